"""Other spellings of a document load to the same."""

from __future__ import annotations

from typing import Any

import pytest

from geneva_drive.declarative import validator
from tests.declarative.documents import allow, block, faults, written

PLAIN = written(
    block("ask", reason="dear", requires={"type": "approval", "role": "boss"}), allow("end")
)


def nested(key: str) -> dict[str, Any]:
    inner = {key: "block", "reason": "dear", "requires": {"type": "approval", "role": "boss"}}
    steps = [{"id": "ask", "type": "action", "action": inner}, allow("end")]
    return {**PLAIN, "steps": steps}


@pytest.mark.parametrize(
    "variant",
    [
        nested("action"),
        nested("type"),
        {"definition": PLAIN},
        {**PLAIN, "definition": PLAIN},
        {"workflow_id": "order", "definition": {**PLAIN, "workflow_id": "order"}},
        {"definition": nested("type")},
    ],
    ids=["action", "type", "definition", "both", "partly", "definition and type"],
)
def test_a_variant_loads_to_the_same(variant: dict[str, Any]) -> None:
    document = validator.parse(variant)

    assert document == validator.parse(PLAIN)
    assert document.stored() == PLAIN


def test_a_fault_has_the_path_of_what_was_written() -> None:
    step = {"id": "a", "type": "action", "action": {"type": "deny", "requires": {"role": 5}}}

    found = validator.examine({"definition": written(step, timeout="x")})[1]

    assert [fault.path for fault in found] == [
        "$.definition.steps[0].action.type",
        "$.definition.steps[0].action.requires.role",
        "$.definition.steps[0].action.requires.type",
        "$.definition.timeout",
    ]


def test_a_key_with_two_values_is_refused() -> None:
    step = {"id": "a", "type": "action", "reason": "x", "action": {"type": "block", "reason": "y"}}

    assert faults(step, definition={"version": "2", "name": "Order"}) == [
        (
            "$.steps[0].action.reason",
            "differs from the value of 'reason' outside; keep one of them",
        ),
        ("$.definition.version", "differs from the value of 'version' outside; keep one of them"),
    ]


def test_numbers_and_spans_have_one_normal_form() -> None:
    first = validator.parse(
        written(allow(timeout="1h", retry={"max": 1, "wait": "90s"}), version=2)
    )
    again = validator.parse(written(allow(timeout=3600, retry={"max": 1, "wait": 90}), version="2"))

    assert first.stored() == again.stored()
    assert first.stored()["steps"][0]["timeout"] == 3600
    assert first.stored()["version"] == "2"
    assert validator.parse(first.stored()) == first


def test_a_list_of_facts_is_read_as_templates() -> None:
    step = {"id": "a", "type": "approval", "role": "boss", "show": ["order.total", "customer"]}

    shown = validator.parse(written(step)).stored()["steps"][0]["show"]

    assert shown == {"order.total": "{{order.total}}", "customer": "{{customer}}"}
