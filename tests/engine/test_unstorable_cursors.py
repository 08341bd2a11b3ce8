"""A cursor that cannot be stored is an error of its step, wherever the loop would be left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, speedrun
from tests.looking import error_of, history, last
from tests.looping import importing, importing_in_transactions, places

UNSTORABLE = (
    "geneva_drive.errors.InvalidInput",
    "The cursor is of type object, which cannot be stored as JSON. Use text, numbers, booleans, "
    "None, lists, tuples, dictionaries, dates and times, Decimal, UUID, bytes or Enum members. "
    "For a record, store its key; for other types, call gd.register_serializer.",
)
LEAVES: dict[str, Callable[[Any], object]] = {
    "end": lambda self: None,
    "skip": lambda self: self.skip(),
    "finish": lambda self: self.finish(),
    "cancel": lambda self: self.cancel(),
    "pause": lambda self: self.pause(),
    "suspend": lambda self: self.suspend(),
    "reattempt": lambda self: self.reattempt(),
}


@pytest.mark.parametrize("leave", LEAVES)
def test_between_two_checkpoints_it_fails_the_step_at_the_end(geneva: gd.Drive, leave: str) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        for cursor in ("a", "b", object()):
            it.set(cursor)
        LEAVES[leave](self)

    workflow = importing(body, checkpoint_every=2)
    perform_next_step(workflow)

    assert workflow.reload().state == "paused"
    assert error_of(last(workflow)) == UNSTORABLE
    assert places(workflow) == [("failed", None, "b", 2)]


def test_with_transactions_it_rolls_back_to_the_last_checkpoint(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep, session: Any) -> None:
        for cursor in ("a", "b", object()):
            it.set(cursor)

    workflow = importing_in_transactions(body, checkpoint_every=2)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == UNSTORABLE
    assert places(workflow) == [("failed", None, "b", 2)]


def test_the_policy_of_the_step_has_its_say(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        it.set(object())

    workflow = speedrun(importing(body, checkpoint_every=10, on_exception="skip"))

    assert workflow.state == "finished"
    assert history(workflow)[0] == ("rows", "skipped", "skipped_by_exception")


def test_a_finished_loop_counts_what_was_done_since_its_last_checkpoint(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        for cursor in "abc":
            it.set(cursor)

    workflow = speedrun(importing(body, checkpoint_every=10))

    assert places(workflow) == [("completed", None, None, 3)]


class Fragile:
    """A type that is registered, and whose serializer fails."""


def _break(value: object) -> Any:
    raise OSError("broken")


@pytest.mark.parametrize("every", [1, 10])
def test_a_serializer_that_raises_fails_the_step_and_is_named(geneva: gd.Drive, every: int) -> None:
    gd.register_serializer(Fragile, encode=_break, decode=_break, name="tests-fragile")

    def body(self: Any, it: gd.IterableStep) -> None:
        it.set(Fragile())

    workflow = importing(body, checkpoint_every=every)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        "The cursor cannot be stored, because its serializer 'tests-fragile' raised OSError: "
        "broken",
    )
    assert places(workflow) == [("failed", None, None, 0)]
