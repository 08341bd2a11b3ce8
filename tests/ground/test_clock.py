from __future__ import annotations

from datetime import UTC, datetime, timedelta

from geneva_drive.clock import ShiftedClock, SystemClock


class StandingClock:
    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


def test_the_system_clock_tells_aware_utc() -> None:
    before = datetime.now(UTC)

    told = SystemClock().now()

    assert before <= told <= datetime.now(UTC)
    assert told.tzinfo is UTC


def test_a_shifted_clock_is_ahead_by_a_span_that_grows() -> None:
    clock = ShiftedClock(StandingClock(), timedelta(days=1))
    first = clock.now()

    clock.advance(timedelta(hours=2))

    assert first == datetime(2026, 1, 2, tzinfo=UTC)
    assert clock.now() == datetime(2026, 1, 2, 2, tzinfo=UTC)


def test_shifted_clocks_may_stand_on_each_other() -> None:
    below = ShiftedClock(StandingClock(), timedelta(days=1))
    clock = ShiftedClock(below, timedelta(days=-3))

    assert clock.now() == datetime(2025, 12, 30, tzinfo=UTC)
