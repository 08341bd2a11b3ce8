"""Publisher and waiter meet at every point of both: an event is heard, and heard once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import event as sqlalchemy_event

import geneva_drive as gd
from geneva_drive.engine import crash_points
from geneva_drive.engine.crash_points import Crash, Life, Point
from geneva_drive.testing import drain, perform_next_step
from tests.approving import StandingClock

ran: list[Any] = []
TTL = timedelta(minutes=1)
TIME_LIMIT = 60.0
BLOCKED_AFTER = 0.05  # seconds: the other thread waits for a lock, and this one goes on
FEWEST_PLACES = 4


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


class Order(gd.Workflow[Any]):
    type_name = "test_event_races.Order"

    @gd.wait_for_event("paid", key="1")
    def plain(self, event: gd.Event) -> None:
        ran.append(event.payload)


class Matched(gd.Workflow[Any]):
    type_name = "test_event_races.Matched"

    @gd.wait_for_event("paid", match=lambda self, event: _match(event))
    def matched(self, event: gd.Event) -> None:
        ran.append(event.payload)


during_match: list[Callable[[], object]] = []


def _match(event: gd.Event) -> bool:
    if during_match:
        during_match.pop()()
    return bool(event.payload == "right")


def _once_at(point: Point, act: Callable[[], object]) -> Callable[[Point, Life | None], None]:
    left = [act]

    def watch(reached: Point, _: Life | None) -> None:
        if reached == point and left:
            left.pop()()

    return watch


class Interleaving:
    """Does something on another thread as the calling one reaches its n-th statement or commit.

    If the other thread has to wait for a lock that this one holds, both go on side by side.
    """

    def __init__(self, drive: gd.Drive, act: Callable[[], object]) -> None:
        self._engine = drive.engine
        self._act = act
        self._mine = threading.get_ident()
        self._left = 0
        self._others: list[threading.Thread] = []  # one, once the place is reached

    def run(self, place: int, body: Callable[[], object]) -> bool:
        """Run `body`; False if it has fewer places than that."""
        self._left = place
        self._others.clear()
        points = ("before_cursor_execute", "commit")
        for point in points:
            sqlalchemy_event.listen(self._engine, point, self._reached)
        # Without it, the hot statements are executed past SQLAlchemy.
        sqlalchemy_event.listen(self._engine, "after_cursor_execute", _trace)
        try:
            body()
        finally:
            sqlalchemy_event.remove(self._engine, "after_cursor_execute", _trace)
            for point in points:
                sqlalchemy_event.remove(self._engine, point, self._reached)
        for other in self._others:
            other.join(TIME_LIMIT)
            assert not other.is_alive()
        return bool(self._others)

    def _reached(self, *_: Any) -> None:
        if threading.get_ident() != self._mine or self._others:
            return
        if self._left:
            self._left -= 1
            return
        other = threading.Thread(target=self._act)
        self._others.append(other)
        other.start()
        other.join(BLOCKED_AFTER)


def _trace(*_: Any) -> None: ...


@pytest.mark.parametrize("workflow_class", [Order, Matched])
@pytest.mark.parametrize("first", ["wait", "publish"])
def test_wait_and_publisher_meet_at_every_statement(
    geneva: gd.Drive, first: str, workflow_class: type[gd.Workflow[Any]]
) -> None:
    """One of them happens at each statement of the other: the event is heard, and once."""
    clock = StandingClock()
    geneva.clock = clock
    place, has_met = 0, True
    while has_met:
        ran.clear()
        clock.advance(2 * TTL)  # the events of before are over
        workflow = workflow_class.create()
        wait = partial(perform_next_step, workflow)
        publish = partial(geneva.publish, "paid", "right", key=1, ttl=TTL)

        if first == "wait":
            has_met = Interleaving(geneva, publish).run(place, wait)
        else:
            has_met = Interleaving(geneva, wait).run(place, publish)
        drain(geneva)

        assert ran == (["right"] if has_met else ran), place
        assert workflow.reload().state == "finished" or not has_met
        assert len(workflow.resume_requests) <= 1
        place += 1
    assert place > FEWEST_PLACES


def test_an_event_that_comes_while_a_match_runs_is_matched_next(geneva: gd.Drive) -> None:
    workflow = Matched.create()
    drain(geneva)
    during_match.append(lambda: geneva.publish("paid", "right"))

    geneva.publish("paid", "wrong")
    drain(geneva)

    assert ran == ["right"]
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize("workflow_class", [Order, Matched])
def test_a_publisher_that_dies_after_the_store_leaves_delivery_to_the_sweep(
    geneva: gd.Drive, workflow_class: type[gd.Workflow[Any]]
) -> None:
    workflow = workflow_class.create()
    drain(geneva)

    with crash_points.watching(_once_at("stored", _die)), pytest.raises(Crash):
        geneva.publish("paid", "right", key=1)
    drain(geneva)

    assert ran == ["right"]
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize("workflow_class", [Order, Matched])
def test_a_worker_that_dies_after_a_wait_began_leaves_the_look_to_the_sweep(
    geneva: gd.Drive, workflow_class: type[gd.Workflow[Any]]
) -> None:
    geneva.publish("paid", "right", key=1)
    workflow = workflow_class.create()

    with crash_points.watching(_once_at("opened", _die)), pytest.raises(Crash):
        drain(geneva)
    assert ran == []
    drain(geneva)

    assert ran == ["right"]
    assert workflow.reload().state == "finished"


def _die() -> None:
    raise Crash


def test_many_waits_hear_one_event_once_each_while_two_deliver_it(geneva: gd.Drive) -> None:
    workflows = [Order.create() for _ in range(30)]
    drain(geneva)

    with crash_points.watching(_once_at("stored", geneva.housekeep)):
        geneva.publish("paid", "right", key=1)
    drain(geneva)

    assert ran == ["right"] * 30
    assert {one.reload().state for one in workflows} == {"finished"}
