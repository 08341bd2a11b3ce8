"""The JSON object that a workflow is created with."""

from __future__ import annotations

import copy
import json
import operator
import pickle
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

import geneva_drive as gd
from geneva_drive.engine.execution.fixed_context import ContextIsFixed
from geneva_drive.testing import instance, speedrun
from tests.looking import error_of

TYPED = {
    "text": "snow \N{SNOWMAN} and NUL \x00",
    "whole": 2**70,
    "fraction": 0.1,
    "endless": float("inf"),
    "true": True,
    "none": None,
    "list": [1, [2]],
    "tuple": (1, 2),
    "keys": {1: "one", "$type": "not ours"},
    "day": date(2026, 2, 28),
    "moment": datetime(2026, 2, 28, 12, 30, tzinfo=UTC),
    "span": timedelta(days=-1, microseconds=3),
    "price": Decimal("1.10"),
    "id": UUID(int=1),
    "bytes": b"\x00\xff",
}


class Delivery(gd.Workflow[Any]):
    type_name = "test_context.Delivery"

    @gd.step
    def pack(self) -> None: ...


def test_every_value_comes_back_as_the_type_it_was(geneva: gd.Drive) -> None:
    seen: list[dict[str, Any]] = []

    class Look(gd.Workflow):
        @gd.step
        def look(self) -> None:
            seen.append(dict(self.context))

    workflow = speedrun(Look.create(context=TYPED))

    assert seen == [TYPED]
    assert workflow.reload().context == TYPED
    assert [type(value) for value in seen[0].values()] == [type(v) for v in TYPED.values()]


def test_without_a_context_there_is_an_empty_one(geneva: gd.Drive) -> None:
    assert Delivery.create().context == {}


def test_the_context_is_read_only_in_a_step(geneva: gd.Drive) -> None:
    class Write(gd.Workflow):
        @gd.step
        def write(self) -> None:
            self.context["x"] = 1  # type: ignore[index]  # the very thing under test

    workflow = speedrun(Write.create(context={"x": 0}))

    assert error_of(workflow.step_executions[0]) == (
        "geneva_drive.engine.execution.fixed_context.ContextIsFixed",
        "The context is fixed when the workflow is created, and a step does not change it. Keep "
        "what a step finds out with keep_result=True, for self.result_of(...) to read, or in your "
        "application's own tables.",
    )
    assert workflow.context == {"x": 0}


@pytest.mark.parametrize(
    "change",
    [
        lambda context: operator.setitem(context, "x", 1),
        lambda context: operator.delitem(context, "x"),
        lambda context: context.__ior__({"x": 1}),
        lambda context: context.update(x=1),
        lambda context: context.setdefault("y", 1),
        lambda context: context.pop("x"),
        lambda context: context.popitem(),
        lambda context: context.clear(),
    ],
    ids=["set", "delete", "merge", "update", "setdefault", "pop", "popitem", "clear"],
)
def test_nothing_that_changes_a_dictionary_changes_the_context(
    change: Callable[[Any], object],
) -> None:
    context = instance(Delivery, context={"x": 0}).context

    with pytest.raises(ContextIsFixed):
        change(context)

    assert context == {"x": 0}


def test_the_context_in_a_step_reads_like_a_dictionary() -> None:
    context: Any = instance(Delivery, context={"x": 0, "y": [1]}).context

    assert context == {"x": 0, "y": [1]}
    assert repr(context) == "{'x': 0, 'y': [1]}"
    assert (list(context), list(reversed(context)), len(context)) == (["x", "y"], ["y", "x"], 2)
    assert ("x" in context, "z" in context, context.get("z", 5)) == (True, False, 5)
    assert (context | {"x": 1}, {"x": 1} | context) == ({"x": 1, "y": [1]}, {"x": 0, "y": [1]})
    assert json.dumps(dict(context)) == '{"x": 0, "y": [1]}'
    assert (type(context.copy()), type({**context})) == (dict, dict)
    assert isinstance(context, Mapping)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))]
)
def test_the_context_in_a_step_can_be_copied(duplicate: Callable[[Any], Any]) -> None:
    context = instance(Delivery, context={"x": 0}).context

    assert duplicate(context) == {"x": 0}


def test_what_a_step_changes_within_a_value_of_the_context_is_not_kept(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    class Write(gd.Workflow):
        @gd.step
        def write(self) -> None:
            self.context["names"].append("Ada")

        @gd.step
        def read(self) -> None:
            seen.extend(self.context["names"])

    speedrun(Write.create(context={"names": []}))

    assert seen == []


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (
            ["a list"],
            "The context of a workflow must be a dictionary with text as keys, got ['a list'].",
        ),
        (
            {1: "one"},
            "The context of a workflow must be a dictionary with text as keys, got {1: 'one'}.",
        ),
        (
            {"deep": [{"down": {1, 2}}]},
            "The context['deep'][0]['down'] is of type set, which cannot be stored as JSON. Use "
            "text, numbers, booleans, None, lists, tuples, dictionaries, dates and times, "
            "Decimal, UUID, bytes or Enum members. For a record, store its key; for other types, "
            "call gd.register_serializer.",
        ),
    ],
    ids=["a list", "a key that is no text", "a value that is no JSON"],
)
def test_a_context_that_is_no_json_object_is_refused(
    geneva: gd.Drive, context: Any, message: str
) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        Delivery.create(context=context)

    assert str(refusal.value) == message
    assert Delivery.ongoing().count() == 0


def test_a_context_that_is_too_large_is_refused(geneva: gd.Drive) -> None:
    drive = gd.Drive(geneva.engine, max_payload_size=20)

    with pytest.raises(gd.errors.PayloadTooLarge) as refusal:
        Delivery.using(drive).create(context={"text": "x" * 2000})

    assert str(refusal.value) == (
        "The context is 2,011 bytes as JSON; the limit is 20 bytes. Store the data elsewhere and "
        "keep its key, or raise the setting max_payload_size."
    )
