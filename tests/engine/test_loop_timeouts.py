"""Loops that run past the timeout of their step."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import perform_next_step
from tests.heroes import User, names
from tests.looking import error_of, history, last
from tests.looping import importing, importing_in_transactions, places, reasons, through

TIMED_OUT = (
    "geneva_drive.errors.StepTimedOut",
    "Step 'rows' ran longer than its timeout of 0:00:00.010000.",
)


def dawdle(*_: Any) -> None:
    """Take longer than the timeout of these steps, with a single item."""
    threading.Event().wait(0.02)


def test_a_loop_past_its_timeout_fails_behind_the_item_at_hand(geneva: gd.Drive) -> None:
    done: list[str] = []
    workflow = importing(through("abc", done, dawdle), timeout=0.01)
    perform_next_step(workflow)

    assert done == ["a"]
    assert history(workflow) == [("rows", "failed", "timed_out")]
    assert error_of(last(workflow)) == TIMED_OUT
    assert places(workflow) == [("failed", None, 1, 1)]
    assert workflow.state == "paused"


@pytest.mark.parametrize("every", [1, 100], ids=["each item", "every 100 items"])
def test_the_next_attempt_goes_on_where_the_time_was_up(geneva: gd.Drive, every: int) -> None:
    done: list[str] = []
    workflow = importing(
        through("abc", done, dawdle),
        timeout=0.01,
        checkpoint_every=every,
        on_exception="reattempt",
        max_reattempts=1,  # in a row, at the same item
    )
    perform_next_step(workflow)
    perform_next_step(workflow)

    assert done == ["a", "b"]
    assert places(workflow)[:2] == [("failed", None, 1, 1), ("failed", None, 2, 2)]
    assert workflow.state == "ready"


def test_the_items_of_a_transaction_that_are_done_when_the_time_is_up_are_kept(
    geneva: gd.Drive, users: None
) -> None:
    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for letter in it.iterate_over("abc"):
            session.add(User(name=letter))
            dawdle()

    workflow = importing_in_transactions(
        body, timeout=0.01, checkpoint_every=100, on_exception="reattempt"
    )
    perform_next_step(workflow)
    perform_next_step(workflow)

    assert names(geneva) == ["a", "b"]
    assert history(workflow)[:2] == [("rows", "failed", "timed_out")] * 2
    assert places(workflow)[:2] == [("failed", None, 1, 1), ("failed", None, 2, 2)]


def test_items_that_are_skipped_do_not_give_the_body_more_time(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        for letter in it.iterate_over("abc"):
            dawdle()
            raise ValueError(f"no {letter}")

    workflow = importing(body, timeout=0.01, on_item_error="skip")
    perform_next_step(workflow)

    assert error_of(last(workflow)) == TIMED_OUT
    assert reasons(last(workflow)) == [("item_error", 1, 1), ("timed_out", 1, 1)]


@pytest.mark.parametrize(
    ("act", "cursor", "count"),
    [(lambda it: it.set("moved"), "moved", 1), (lambda it: it.checkpoint(), None, 0)],
    ids=["where it moves on", "where it saves"],
)
def test_a_loop_of_ones_own_fails_too(
    geneva: gd.Drive, act: Callable[[gd.IterableStep], None], cursor: str | None, count: int
) -> None:
    left: list[str] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        dawdle()
        act(it)
        left.append("went on")

    workflow = importing(body, timeout=0.01)
    perform_next_step(workflow)

    assert left == []
    assert places(workflow) == [("failed", None, cursor, count)]
    assert error_of(last(workflow)) == TIMED_OUT


def test_a_timeout_goes_before_the_share_of_a_run(geneva: gd.Drive) -> None:
    workflow = importing(through("abc", [], dawdle), timeout=0.01, max_iterations=1)
    perform_next_step(workflow)

    assert history(workflow) == [("rows", "failed", "timed_out")]


def test_an_except_of_the_bodys_own_does_not_hide_that_the_time_is_up(geneva: gd.Drive) -> None:
    caught: list[Exception] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        try:
            for _ in it.iterate_over("abc"):
                dawdle()
        except Exception as error:  # noqa: BLE001 - as a user may write it
            caught.append(error)

    workflow = importing(body, timeout=0.01)
    perform_next_step(workflow)

    assert caught == []
    assert history(workflow) == [("rows", "failed", "timed_out")]
