from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock, SystemClock, checked_clock
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


class LocalClock:
    def __init__(self, told: object) -> None:
        self.told = told

    def now(self) -> Any:
        return self.told


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("local", "moment"),
    [
        pytest.param(
            datetime(2026, 3, 29, 1, 59, tzinfo=BERLIN),
            datetime(2026, 3, 29, 0, 59, tzinfo=UTC),
            id="before-summer-time",
        ),
        pytest.param(
            datetime(2026, 3, 29, 3, 0, tzinfo=BERLIN),
            datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
            id="a-minute-later",
        ),
        pytest.param(
            datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN),
            datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
            id="first-half-past-two",
        ),
        pytest.param(
            datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN),
            datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
            id="second-half-past-two",
        ),
    ],
)
def test_a_clock_in_a_local_zone_tells_utc(local: datetime, moment: datetime) -> None:
    told = checked_clock("Setting clock", LocalClock(local)).now()

    assert told.tzinfo is UTC
    assert told == moment


def test_a_local_clock_is_shifted_by_hours_that_pass_not_by_hours_on_the_wall() -> None:
    before_winter_time = LocalClock(datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN))

    clock = ShiftedClock(before_winter_time, timedelta(hours=1))

    assert clock.now() == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


MUST = (
    "Setting clock must be an object with a method now() that takes no argument and returns an "
    "aware datetime, got "
)
RETURN = "Return an aware datetime, such as datetime.now(UTC)."


@pytest.mark.parametrize(
    ("clock", "message"),
    [
        pytest.param(None, f"{MUST}None.", id="none"),
        pytest.param("UTC", f"{MUST}'UTC'.", id="text"),
        pytest.param(object, f"{MUST}<class 'object'>.", id="without-now"),
        pytest.param(StandingClock, f"{MUST}{StandingClock!r}.", id="a-class"),
        pytest.param(
            LocalClock(datetime(2026, 1, 1)),  # noqa: DTZ001 - the naive one
            f"Setting clock: now() returned datetime.datetime(2026, 1, 1, 0, 0), which has no time "
            f"zone. {RETURN}",
            id="naive",
        ),
        pytest.param(
            LocalClock("12:00"),
            f"Setting clock: now() returned '12:00', which is not a datetime. {RETURN}",
            id="text-as-time",
        ),
        pytest.param(
            LocalClock(None),
            f"Setting clock: now() returned None, which is not a datetime. {RETURN}",
            id="no-time",
        ),
    ],
)
def test_a_wrong_clock_is_refused_by_name(clock: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        gd.Drive("sqlite:///unused.db", clock=clock)

    assert str(refusal.value) == message


def test_a_clock_that_turns_naive_is_refused_when_it_is_read() -> None:
    clock = LocalClock(datetime(2026, 1, 1, tzinfo=UTC))
    drive = gd.Drive("sqlite:///unused.db", clock=clock)

    clock.told = datetime(2026, 1, 1)  # noqa: DTZ001 - the naive one

    with pytest.raises(InvalidInput) as refusal:
        drive.clock.now()

    assert str(refusal.value) == (
        f"Setting clock: now() returned datetime.datetime(2026, 1, 1, 0, 0), which has no time "
        f"zone. {RETURN}"
    )


def test_a_drive_refuses_a_wrong_clock_later_as_well() -> None:
    drive = gd.Drive("sqlite:///unused.db")

    with pytest.raises(InvalidInput) as refusal:
        drive.clock = None  # type: ignore[assignment]  # that is the point

    assert str(refusal.value) == MUST.replace("Setting clock", "Drive.clock") + "None."
    assert drive.clock.now().tzinfo is UTC
