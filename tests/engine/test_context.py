"""The JSON object that a workflow is created with."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

import geneva_drive as gd
from geneva_drive.testing import speedrun

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

    assert workflow.step_executions[0].error_message == (
        "'mappingproxy' object does not support item assignment"
    )
    assert workflow.context == {"x": 0}


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (
            ["a list"],
            "The context of a workflow is a JSON object: a dictionary with text as keys, "
            "not ['a list'].",
        ),
        (
            {1: "one"},
            "The context of a workflow is a JSON object: a dictionary with text as keys, "
            "not {1: 'one'}.",
        ),
        (
            {"deep": [{"down": {1, 2}}]},
            "The context['deep'][0]['down'] is a set, which cannot be stored as JSON. Use text, "
            "numbers, booleans, None, lists, tuples, dictionaries, dates and times, Decimal, UUID, "
            "bytes or Enum members; of a record, store its key; for other types, call "
            "gd.register_serializer.",
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
