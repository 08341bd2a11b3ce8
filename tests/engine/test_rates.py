"""Never more starts than its rate allows, within any span of that length."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, speedrun
from tests.deploys import former_code
from tests.limiting import StillClock, limits, parked, slots


@pytest.fixture
def clock(geneva: gd.Drive) -> StillClock:
    clock = StillClock()
    geneva.clock = clock
    return clock


def run_through(drive: gd.Drive, clock: StillClock, *pauses: float) -> None:
    """Drain, and again after each pause."""
    drain(drive)
    for pause in pauses:
        clock.advance(pause)
        drain(drive)


def most_within(moments: list[datetime], span: timedelta) -> int:
    """Count the most moments that lie in one span of time, its end not included."""
    return max(sum(first <= other < first + span for other in moments) for first in moments)


def seconds(moments: list[datetime]) -> list[float]:
    return [(moment - moments[0]).total_seconds() for moment in moments]


def test_a_burst_up_to_the_rate_starts_at_once_and_the_rest_when_its_time_comes(
    geneva: gd.Drive, clock: StillClock
) -> None:
    starts: list[datetime] = []

    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(rate="3/s"))
        def send(self) -> None:
            starts.append(clock.now())

    for _ in range(7):
        Mail.create()
    run_through(geneva, clock, 0.5, 0.5, 0.5, 0.5)

    assert seconds(starts) == [0, 0, 0, 1, 1, 1, 2]
    assert (parked(geneva), Mail.finished().count()) == ([], 7)


def test_no_span_of_the_period_has_more_starts_than_the_rate_wherever_it_begins(
    geneva: gd.Drive, clock: StillClock
) -> None:
    starts: list[datetime] = []

    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(rate="3/2s"))
        def send(self) -> None:
            starts.append(clock.now())

    # Two late in the first span: a window that began anew each two seconds would let five start.
    Mail.create()
    run_through(geneva, clock, 1.9)
    for _ in range(8):
        Mail.create()
    run_through(geneva, clock, 0.1, 0.3, 0.7, 0.9, 0.05, 0.95, 1.0, 0.1, 1.9)

    assert seconds(starts) == [0, 1.9, 1.9, 2.0, 3.9, 3.9, 4.9, 5.9, 5.9]
    assert most_within(starts, timedelta(seconds=2)) == 3


def test_a_look_that_comes_a_moment_too_early_starts_nothing(
    geneva: gd.Drive, clock: StillClock
) -> None:
    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(rate="1/h"))
        def send(self) -> None: ...

    Mail.create()
    Mail.create()
    drain(geneva)

    clock.advance(3599.999999)
    assert drain(geneva) == 0
    clock.advance(0.000001)
    assert drain(geneva) == 1


def test_no_more_starts_are_remembered_than_the_rate_looks_at(
    geneva: gd.Drive, clock: StillClock
) -> None:
    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(key="smtp", rate="2/s"))
        def send(self) -> None: ...

    for _ in range(8):
        Mail.create()
    run_through(geneva, clock, 1, 1, 1)

    assert Mail.finished().count() == 8
    assert slots(geneva) == ["smtp", "smtp"]


def test_a_failed_attempt_counts_as_a_start(geneva: gd.Drive, clock: StillClock) -> None:
    starts: list[datetime] = []

    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(rate="1/m"), on_exception="reattempt")
        def send(self) -> None:
            starts.append(clock.now())
            if len(starts) == 1:
                raise ConnectionError

    Mail.create()
    run_through(geneva, clock, 59, 1)

    assert seconds(starts) == [0, 60]


def test_what_its_condition_skips_takes_nothing_of_the_rate(
    geneva: gd.Drive, clock: StillClock
) -> None:
    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(rate="1/m"), skip_if=lambda self: self.context["unsubscribed"])
        def send(self) -> None: ...

    for unsubscribed in (True, False, True):
        Mail.create(context={"unsubscribed": unsubscribed})

    assert drain(geneva) == 3
    assert slots(geneva) == ["Mail.send"]


def test_one_that_is_let_go_and_skipped_gives_its_turn_to_the_next(
    geneva: gd.Drive, clock: StillClock
) -> None:
    ran: list[int] = []

    class Mail(gd.Workflow):
        @gd.step(
            limit=gd.Limit(key=lambda self: "smtp", rate="1/m"),
            skip_if=lambda self: bool(ran) and self.context["number"] < 4,
        )
        def send(self) -> None:
            ran.append(self.context["number"])

    class Blocker(gd.Workflow):
        @gd.step(limit=gd.Limit(key="smtp", rate="1/m"))
        def send(self) -> None:
            ran.append(0)

    Blocker.create(priority=1)
    for number in range(1, 5):
        Mail.create(context={"number": number})
    table = geneva.store.tables.step_executions
    with geneva.engine.begin() as connection:
        connection.execute(
            table.update().where(table.c.type == "Mail").values(limit_key="smtp", claimable=False)
        )
    drain(geneva)
    limit = geneva.store.tables.limits
    with geneva.engine.begin() as connection:
        connection.execute(limit.update().values(wakes_at=clock.now() + timedelta(minutes=1)))
    run_through(geneva, clock, 60)

    assert ran == [0, 4]


def test_a_rate_that_was_raised_holds_for_those_who_wait_already(
    geneva: gd.Drive, clock: StillClock
) -> None:
    with former_code():

        class Mail(gd.Workflow):
            @gd.step(limit=gd.Limit(rate="1/d"))
            def send(self) -> None: ...

        for _ in range(4):
            Mail.create()
        assert drain(geneva) == 1

    class Mail(gd.Workflow):  # type: ignore[no-redef]
        @gd.step(limit=gd.Limit(rate="3/d"))
        def send(self) -> None: ...

    Mail.create(priority=1)

    assert drain(geneva) == 2
    assert limits(geneva) == {"Mail.send": (None, "3/d")}


def test_speedrun_ignores_rates_as_it_ignores_waits(geneva: gd.Drive, clock: StillClock) -> None:
    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(rate="1/d"))
        def send(self) -> None: ...

    first, second = Mail.create(), Mail.create()
    drain(geneva)
    assert parked(geneva) == [("send", "Mail.send")]

    assert speedrun(second).state == "finished"

    assert (first.reload().state, parked(geneva), slots(geneva)) == ("finished", [], ["Mail.send"])


def test_drain_leaves_what_waits_for_its_rate_and_does_not_count_it(
    geneva: gd.Drive, clock: StillClock
) -> None:
    class Mail(gd.Workflow):
        @gd.step(limit=gd.Limit(rate="2/m"))
        def send(self) -> None: ...

    for _ in range(5):
        Mail.create()

    assert [drain(geneva), drain(geneva)] == [2, 0]
    clock.advance(60)
    assert drain(geneva) == 2
