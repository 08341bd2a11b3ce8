"""Loops that are suspended while a condition is true."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import drain, perform_next_step
from tests.looking import error_of, last
from tests.looping import importing, places, reasons, through, wait_of


def test_a_loop_rests_while_the_condition_holds_and_then_goes_on(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    done: list[int] = []
    busy = False

    def body(self: Any, it: gd.IterableStep) -> None:
        nonlocal busy
        it.throttle(lambda: busy, backoff=60)
        for item in it.iterate_over(range(4)):
            done.append(item)
            busy = item == 1

    workflow = importing(body)
    drain(geneva)
    assert done == [0, 1]
    assert places(workflow) == [("suspended", "throttled", 2, 2)]
    assert timedelta(seconds=50) < wait_of(geneva, workflow) <= timedelta(seconds=60)

    geneva_clock.advance(timedelta(seconds=30))
    assert drain(geneva) == 0
    geneva_clock.advance(timedelta(seconds=31))
    drain(geneva)
    assert done == [0, 1]

    busy = False
    geneva_clock.advance(timedelta(seconds=61))
    drain(geneva)
    assert done == [0, 1, 2, 3]
    assert reasons(workflow.step_executions[0]) == [
        ("throttled", 2, 2),
        ("throttled", 2, 2),
        ("success", 4, 4),
    ]


def test_a_condition_that_holds_from_the_start_lets_no_item_through(geneva: gd.Drive) -> None:
    done: list[int] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        it.throttle(lambda: True, backoff=timedelta(minutes=1))
        done.extend(it.iterate_over(range(4)))

    workflow = importing(body)
    perform_next_step(workflow)

    assert done == []
    assert places(workflow) == [("suspended", "throttled", None, 0)]


def test_each_of_several_conditions_has_its_own_backoff(geneva: gd.Drive) -> None:
    done: list[int] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        it.throttle(lambda: False, backoff=10)
        it.throttle(lambda: bool(done), backoff=3600)
        through(range(4), done)(self, it)

    workflow = importing(body)
    perform_next_step(workflow)

    assert done == [0]
    assert wait_of(geneva, workflow) > timedelta(minutes=59)


def test_throttling_in_the_body_of_the_loop_rests_before_the_work_of_its_item(
    geneva: gd.Drive,
) -> None:
    done: list[int] = []
    asked: list[int] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        for item in it.iterate_over(range(3)):
            asked.append(item)
            it.throttle(lambda: asked == [0, 1], backoff=60)
            done.append(item)

    workflow = importing(body)
    perform_next_step(workflow)
    assert done == [0]
    assert places(workflow) == [("suspended", "throttled", 1, 1)]

    perform_next_step(workflow)
    assert (done, asked) == ([0, 1, 2], [0, 1, 1, 2])


def test_what_was_not_saved_before_a_rest_is_saved_with_it(geneva: gd.Drive) -> None:
    done: list[int] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        it.throttle(lambda: len(done) == 3, backoff=0)
        through(range(4), done)(self, it)

    workflow = importing(body, checkpoint_every=100)
    perform_next_step(workflow)

    assert places(workflow) == [("suspended", "throttled", 3, 3)]


def test_a_condition_that_raises_is_the_step_raising(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        it.throttle(lambda: 1 / 0, backoff=60)

    workflow = importing(body)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == ("builtins.ZeroDivisionError", "division by zero")


def test_a_negative_backoff_is_refused(geneva: gd.Drive) -> None:
    workflow = importing(lambda self, it: it.throttle(bool, backoff=-1))
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        "throttle(backoff=...): -1 is negative.",
    )


def test_a_loop_of_ones_own_is_asked_for_behind_each_of_its_items(geneva: gd.Drive) -> None:
    done: list[int] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        it.throttle(lambda: it.cursor == 2 and len(done) == 2, backoff=0)
        for number in range(it.cursor or 0, 4):
            done.append(number)
            it.set(number + 1)

    workflow = importing(body, checkpoint_every=100)
    perform_next_step(workflow)
    assert done == [0, 1]
    assert places(workflow) == [("suspended", "throttled", 2, 2)]


def test_a_condition_is_asked_once_for_each_item_of_a_loop_of_ones_own(geneva: gd.Drive) -> None:
    asked: list[object] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        it.throttle(lambda: asked.append(it.cursor), backoff=60)
        while (it.cursor or 0) < 3:
            it.advance()

    perform_next_step(importing(body))

    assert asked == [None, 1, 2, 3]


def test_a_condition_within_a_loop_of_ones_own_is_asked_where_it_is_written(
    geneva: gd.Drive,
) -> None:
    asked: list[object] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        while (it.cursor or 0) < 4:
            it.throttle(lambda: asked.append(it.cursor), backoff=60)
            it.advance()

    perform_next_step(importing(body))

    # After the first item it is not known yet that the call comes again.
    assert asked == [None, 1, 1, 2, 3]


def test_an_async_condition_is_refused_in_a_plain_step(geneva: gd.Drive) -> None:
    async def is_busy() -> bool:
        return False

    workflow = importing(lambda self, it: it.throttle(is_busy, backoff=60))
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        "The condition of throttle() is async, and its step is a plain function, which cannot "
        "await it. Make the step an `async def`, or pass a plain function.",
    )
