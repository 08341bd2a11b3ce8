"""The published JSON Schema, and documents that use every key."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from geneva_drive.declarative import validator
from geneva_drive.declarative.reference.schema import json_schema
from geneva_drive.declarative.steps import TYPES
from tests.declarative.documents import allow, block, check, setting, written

COMMON = {"name": "A step", "retry": {"max": 3, "backoff": "linear", "wait": "5s"}, "timeout": "1h"}
EVERYTHING: dict[str, Any] = {
    "$schema": "./workflow.schema.json",
    "workflow_id": "everything",
    "version": 2.5,
    "name": "Everything",
    "description": "Every key.",
    "input": {"type": "object"},
    "trigger": {
        "type": "schedule",
        "cron": "0 9 * * 1-5",
        "timezone": "Europe/Amsterdam",
        "overlap": "queue",
        "missed": "all",
    },
    "context": {"load": ["order", "customer"]},
    "timeout": "7d",
    "steps": [
        {
            "id": "check",
            "type": "condition",
            "condition": {
                "field": "a", "operator": ">=", "value": 1, "default": 2,
                "and": [{"or": [{"not": {"field": "b", "operator": "exists", "value": False}}]}],
            },
            "on_true": "run",
            "on_false": "stop",
            **COMMON,
        },
        {
            "id": "run",
            "type": "execute",
            "execute": [
                {"type": "set", "path": "a.b", "value": None, "optional": True},
                {"type": "notify", "recipients": "boss", "message": "x"},
                {"type": "notify", "recipients": ["a", "b"], "message": "x"},
                {"type": "webhook", "url": "https://x.example", "method": "PATCH", "body": [1],
                 "headers": {"a": "b"}},
                {"type": "reserve_stock", "sku": "A", "count": 2},
            ],
            "next": "ask",
            **COMMON,
        },
        block("stop", reason="no", execute=[{"type": "set", "path": "a", "value": 1}]),
        block("ask", requires={"type": "approval", "role": "r", "timeout": 60}, on_true="approve",
              on_false="stop", on_timeout="stop", reason="dear", **COMMON),
        {"id": "approve", "type": "approval", "role": "r", "ask": "?", "show": {"a": 1},
         "on_true": "hear", "on_reject": "stop", "on_timeout": "stop", "escalate_to": "s",
         **COMMON},
        {"id": "hear", "type": "wait", "event": "a.*", "key": 7, "on_timeout": "stop",
         "match": {"field": "event.x", "operator": "in", "value": [1]}, **COMMON},
        {"id": "rest", "type": "wait", "duration": "5m"},
        {"id": "both", "type": "parallel", "strategy": "best_effort", "on_false": "stop",
         "steps": [setting("p", "x", 1), allow("q")], **COMMON},
        {"id": "each", "type": "foreach", "items": "{{lines}}", "item_var": "line",
         "steps": [check("in_each", "line", "eq", 1)], "on_false": "stop", **COMMON},
        {"id": "child", "type": "workflow", "workflow": "other", "context": {"a": "{{a}}"},
         **COMMON},
        allow("end"),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def schema() -> Any:
    return jsonschema_rs.validator_for(json_schema())


def test_a_document_with_every_key_is_valid_for_both(schema: Any) -> None:
    assert validator.examine(EVERYTHING)[1] == []
    assert [error.message for error in schema.iter_errors(EVERYTHING)] == []
    assert {step["type"] for step in EVERYTHING["steps"]} == set(TYPES)


def test_a_normal_form_is_valid_and_read_as_the_same(schema: Any) -> None:
    document = validator.parse(EVERYTHING)

    assert validator.parse(document.stored()) == document
    assert schema.is_valid(document.stored())


@pytest.mark.parametrize(
    "document",
    [
        written(allow(), zzz=1),
        written(allow(zzz=1)),
        written({"id": "a", "type": "execute", "execute": [{"type": "set", "path": "x"}]}),
        written({"id": "a", "type": "jump"}),
        written(check("a", "x", "equals", 1)),
        written(allow(timeout="soon")),
        {"steps": [allow()]},
    ],
    ids=["top", "step", "action", "type", "operator", "duration", "missing"],
)
def test_the_schema_refuses_what_the_validator_refuses(schema: Any, document: Any) -> None:
    assert validator.examine(document)[1] != []
    assert not schema.is_valid(document)


def test_the_schema_has_the_version_of_its_format() -> None:
    published = json_schema()

    assert published["$id"] == "urn:geneva-drive:workflow:1"
    assert published["title"] == "GenevaDrive workflow, format version 1"
