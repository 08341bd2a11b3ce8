"""Running all that is due, and moving the time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import drain, time_travel

DAY = timedelta(days=1)


class Signup(gd.Workflow[Any]):
    type_name = "test_draining.Signup"

    @gd.step
    def welcome(self) -> None: ...

    @gd.step(wait=DAY)
    def remind(self) -> None: ...


def test_drain_runs_what_is_due_and_what_becomes_due_by_it(geneva: gd.Drive) -> None:
    class Chain(gd.Workflow):
        @gd.step
        def first(self) -> None:
            Signup.create()

        @gd.step
        def second(self) -> None: ...

    workflow = Chain.create()

    assert drain(geneva) == 3
    assert workflow.reload().state == "finished"
    assert Signup.ready().count() == 1


def test_drain_leaves_what_is_not_due(geneva: gd.Drive) -> None:
    workflow = Signup.create()

    assert drain(geneva) == 1
    assert drain(geneva) == 0
    assert workflow.reload().next_step_name == "remind"


def test_drain_takes_the_default_drive(geneva: gd.Drive) -> None:
    Signup.create()

    assert drain() == 1


def test_time_travel_moves_the_drives_time_within_its_block(geneva: gd.Drive) -> None:
    workflow = Signup.create()
    drain(geneva)
    with time_travel(DAY - timedelta(minutes=1)):
        assert drain(geneva) == 0

    with time_travel(DAY):
        assert drain(geneva) == 1
    assert workflow.reload().state == "finished"
    assert geneva.clock.now() - datetime.now(UTC) < timedelta(minutes=1)


@pytest.mark.parametrize("span", [86_400, "1d"], ids=repr)
def test_time_travel_takes_whatever_is_a_duration(geneva: gd.Drive, span: Any) -> None:
    start = geneva.clock.now()

    with time_travel(span) as clock:
        assert clock.now() - start >= DAY


def test_time_travels_add_up(geneva: gd.Drive) -> None:
    with time_travel(DAY), time_travel(DAY) as clock:
        clock.advance(DAY)

        assert geneva.clock.now() - datetime.now(UTC) > 3 * DAY - timedelta(minutes=1)


def test_time_travel_moves_another_drive_than_the_default(geneva: gd.Drive) -> None:
    other = gd.Drive(geneva.engine)

    with time_travel(DAY, other):
        assert other.clock.now() - geneva.clock.now() > DAY - timedelta(minutes=1)


def test_time_travel_counts_for_prune(geneva: gd.Drive) -> None:
    Signup.create().cancel()

    assert geneva.prune(older_than=DAY) == 0
    with time_travel(2 * DAY):
        assert geneva.prune(older_than=DAY) == 1


def test_time_travel_lets_no_lease_run_out(geneva: gd.Drive) -> None:
    seen: list[int] = []

    class Look(gd.Workflow):
        @gd.step
        def look(self) -> None:
            with time_travel(10 * DAY):
                seen.append(geneva.housekeep())

    workflow = Look.create()
    drain(geneva)

    assert seen == [0]
    assert workflow.reload().state == "finished"


def test_the_clock_of_the_fixture_moves_on_when_it_is_told(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    before = geneva.clock.now()
    geneva_clock.advance(2 * DAY)

    assert 2 * DAY <= geneva.clock.now() - before < 2 * DAY + timedelta(minutes=1)
    assert geneva.clock is geneva_clock
