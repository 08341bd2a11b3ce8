"""Publisher and waiter meet at every point of both: an event is heard, and heard once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.engine import crash_points
from geneva_drive.engine.crash_points import Crash, Life, Point
from geneva_drive.testing import drain
from tests.looking import history

ran: list[Any] = []


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


@pytest.mark.parametrize("workflow_class", [Order, Matched])
@pytest.mark.parametrize("point", ["claim", "body", "opened"])
def test_an_event_is_published_at_each_point_of_a_wait(
    geneva: gd.Drive, point: Point, workflow_class: type[gd.Workflow[Any]]
) -> None:
    workflow = workflow_class.create()
    publish = lambda: geneva.publish("paid", "right", key=1)  # noqa: E731 - a watch calls it
    if point == "body" and geneva.engine.name == "sqlite":
        pytest.skip("SQLite has one writer: nothing is published while the wait is written.")

    with crash_points.watching(_once_at(point, publish)):
        drain(geneva)
    drain(geneva)

    assert ran == ["right"]
    assert workflow.reload().state == "finished"
    assert len(workflow.resume_requests) == 1


@pytest.mark.parametrize("workflow_class", [Order, Matched])
def test_a_wait_begins_between_the_store_and_the_delivery_of_its_event(
    geneva: gd.Drive, workflow_class: type[gd.Workflow[Any]]
) -> None:
    workflow = workflow_class.create()

    with crash_points.watching(_once_at("stored", lambda: drain(geneva))):
        geneva.publish("paid", "right", key=1)
    drain(geneva)

    assert ran == ["right"]
    assert workflow.reload().state == "finished"


def test_an_event_that_comes_while_a_match_runs_is_matched_next(geneva: gd.Drive) -> None:
    workflow = Matched.create()
    drain(geneva)
    during_match.append(lambda: geneva.publish("paid", "right"))

    geneva.publish("paid", "wrong")
    drain(geneva)

    assert ran == ["right"]
    assert workflow.reload().state == "finished"


def test_a_publisher_that_dies_after_the_store_leaves_delivery_to_the_sweep(
    geneva: gd.Drive,
) -> None:
    workflow = Order.create()
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


def test_twenty_threads_publish_one_id_and_there_is_one_event(geneva: gd.Drive) -> None:
    workflow = Order.create()
    drain(geneva)
    answers: list[Any] = []
    start = threading.Barrier(20)

    def publish() -> None:
        start.wait()
        answers.append(geneva.publish("paid", "right", key=1, id="one", source="bank"))

    threads = [threading.Thread(target=publish) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drain(geneva)

    assert sorted(one.duplicate for one in answers) == [False] + [True] * 19
    assert len({one.number for one in answers}) == 1
    assert (ran, history(workflow)) == (["right"], [("plain", "completed", "success")])


def test_many_waits_hear_one_event_once_each_while_two_deliver_it(geneva: gd.Drive) -> None:
    workflows = [Order.create() for _ in range(30)]
    drain(geneva)

    with crash_points.watching(_once_at("stored", geneva.housekeep)):
        geneva.publish("paid", "right", key=1)
    drain(geneva)

    assert ran == ["right"] * 30
    assert {one.reload().state for one in workflows} == {"finished"}
