"""The options that only a resumable step has, and what is wrong with others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.options.iteration import Iteration
from geneva_drive.definition.workflow import definition_of
from geneva_drive.errors import StepConfigurationError


def walk(self: Any, it: gd.IterableStep) -> None: ...


def iteration_of(**options: Any) -> Iteration | None:
    class Sweep(gd.Workflow):
        only = gd.resumable_step(walk, **options)

    node = definition_of(Sweep).get("only")
    assert node is not None
    return node.options.iteration


def fault_of(make: Callable[[], object]) -> str:
    with pytest.raises(StepConfigurationError) as refusal:
        make()
    return refusal.value.what


def test_a_loop_saves_each_item_and_has_no_bounds_by_itself() -> None:
    assert iteration_of() == Iteration(
        max_iterations=None,
        max_runtime=None,
        iteration_limit=None,
        checkpoint_every=1,
        start=None,
        skips_item_errors=False,
        max_item_errors=None,
    )


def test_a_loop_is_as_its_options_say() -> None:
    assert iteration_of(
        max_iterations=10,
        max_runtime=300,
        iteration_limit=1000,
        checkpoint_every=timedelta(seconds=5),
        start=0,
        on_item_error="skip",
        max_item_errors=3,
    ) == Iteration(
        max_iterations=10,
        max_runtime=timedelta(minutes=5),
        iteration_limit=1000,
        checkpoint_every=timedelta(seconds=5),
        start=0,
        skips_item_errors=True,
        max_item_errors=3,
    )


def test_a_plain_step_has_no_loop() -> None:
    class Plain(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    node = definition_of(Plain).get("only")
    assert node is not None
    assert (node.options.iteration, node.is_resumable) == (None, False)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "must be at least 1, got 0"),
        (-1, "must be at least 1, got -1"),
        (True, "must be a whole number, got True"),
        (1.5, "must be a whole number, got 1.5"),
        ("3", "must be a whole number, got '3'"),
    ],
)
@pytest.mark.parametrize("option", ["max_iterations", "iteration_limit"])
def test_a_number_of_items_is_a_whole_number_from_one_up(
    option: str, value: object, words: str
) -> None:
    fault = fault_of(lambda: iteration_of(**{option: value}))

    assert fault == f"Step 'walk': {option} {words}."


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"max_runtime": 0}, "max_runtime must be longer than zero, got 0."),
        ({"max_runtime": -1}, "max_runtime: -1 is negative."),
        (
            {"checkpoint_every": 0},
            "checkpoint_every must be at least 1, got 0. Pass a number of items or a timedelta.",
        ),
        (
            {"checkpoint_every": 1.5},
            "checkpoint_every must be a whole number, got 1.5. Pass a number of items or a "
            "timedelta.",
        ),
        (
            {"checkpoint_every": True},
            "checkpoint_every must be a whole number, got True. Pass a number of items or a "
            "timedelta.",
        ),
        (
            {"checkpoint_every": timedelta(0)},
            "checkpoint_every must be longer than zero, got datetime.timedelta(0).",
        ),
        ({"on_item_error": "pause"}, "on_item_error must be 'stop' or 'skip', got 'pause'."),
        ({"max_item_errors": 3}, 'max_item_errors needs on_item_error="skip".'),
        (
            {"on_item_error": "skip", "max_item_errors": 0},
            "max_item_errors must be at least 1, got 0.",
        ),
        (
            {"start": {1}},
            "start is of type set, which cannot be stored as JSON. Use text, numbers, booleans, "
            "None, lists, tuples, dictionaries, dates and times, Decimal, UUID, bytes or Enum "
            "members. For a record, store its key; for other types, call gd.register_serializer.",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_an_option_with_a_wrong_value_is_refused(options: dict[str, Any], fault: str) -> None:
    assert fault_of(lambda: iteration_of(**options)) == f"Step 'walk': {fault}"


def test_a_plain_step_has_none_of_these_options() -> None:
    def only(self: Any) -> None: ...

    options: dict[str, Any] = {"max_iterations": 3}

    assert fault_of(lambda: gd.step(only, **options)).startswith(
        "Step 'only': there is no option 'max_iterations'. The options are: after_step, "
    )


def test_the_body_of_a_resumable_step_takes_it() -> None:
    def alone(self: Any) -> None: ...

    def without_session(self: Any, it: gd.IterableStep) -> None: ...

    assert fault_of(lambda: gd.resumable_step(alone)) == (
        "Step 'alone': 'alone' is called with (self, it) but takes (self: 'Any') -> 'None': too "
        "many positional arguments. Add the parameter it, as in alone(self, it)."
    )
    assert fault_of(lambda: gd.resumable_step(without_session, transaction=True)) == (
        "Step 'without_session': 'without_session' is called with (self, it, session) but takes "
        "(self: 'Any', it: 'gd.IterableStep') -> 'None': too many positional arguments. Add the "
        "parameter session, as in without_session(self, it, session)."
    )


def test_an_async_loop_has_no_transaction() -> None:
    async def rows(self: Any, it: gd.AsyncIterableStep, session: Any) -> None: ...

    assert fault_of(lambda: gd.resumable_step(rows, transaction=True)) == (
        "Step 'rows': transaction=True needs a plain function, as its session belongs to one "
        "thread. Write def instead of async def, or leave out transaction."
    )
