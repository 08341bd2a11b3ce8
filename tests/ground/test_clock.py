from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from geneva_drive.clock import ShiftedClock, SystemClock
from geneva_drive.errors import InvalidInput


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


@pytest.mark.parametrize("span", [timedelta(days=1), 86_400, 86_400.0, "1d", "24h"], ids=repr)
def test_a_clock_is_advanced_by_whatever_is_a_duration(span: Any) -> None:
    clock = ShiftedClock(StandingClock(), timedelta(0))

    clock.advance(span)

    assert clock.now() == datetime(2026, 1, 2, tzinfo=UTC)


def test_a_clock_is_not_advanced_by_what_is_no_duration() -> None:
    clock = ShiftedClock(StandingClock(), timedelta(0))

    with pytest.raises(InvalidInput) as refusal:
        clock.advance("soon")

    assert str(refusal.value) == (
        "advance(): 'soon' is not a duration (a timedelta, seconds, or text such as '30s')."
    )
    assert clock.now() == datetime(2026, 1, 1, tzinfo=UTC)


def test_shifted_clocks_may_stand_on_each_other() -> None:
    below = ShiftedClock(StandingClock(), timedelta(days=1))
    clock = ShiftedClock(below, timedelta(days=-3))

    assert clock.now() == datetime(2025, 12, 30, tzinfo=UTC)
