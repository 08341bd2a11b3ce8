"""Schedules are checked where they are written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import geneva_drive as gd
from geneva_drive.definition.schedule import Cron
from geneva_drive.definition.workflow import definition_of
from geneva_drive.errors import InvalidInput, StepConfigurationError
from geneva_drive.states import MissedRuns, Overlap

FIELDS = "minute, hour, day of month, month and day of week, such as '0 9 * * 1-5'"
AMSTERDAM = ZoneInfo("Europe/Amsterdam")


def test_a_class_has_the_schedule_that_it_declares() -> None:
    class Digest(gd.Workflow):
        schedule = gd.cron("0 9 * * 1-5")

    class Weekly(Digest):
        """A schedule is not inherited: both classes would fire."""

    class Daily(Digest):
        schedule = gd.cron("0 8 * * *", overlap="queue")

    assert definition_of(Digest).schedule == Cron(
        line="0 9 * * 1-5",
        timezone="UTC",
        overlap=Overlap.SKIP,
        missed=MissedRuns.LATEST,
        jitter=None,
    )
    assert definition_of(Weekly).schedule is None
    assert definition_of(Daily).schedule is Daily.schedule


@pytest.mark.parametrize(
    ("line", "options", "message"),
    [
        (
            "99 * * * *",
            {},
            f"the cron line '99 * * * *' has a bad minute. The fields are {FIELDS}.",
        ),
        (
            "0 0 32 * *",
            {},
            f"the cron line '0 0 32 * *' has a bad day of month. The fields are {FIELDS}.",
        ),
        (
            "@daily",
            {},
            f"the cron line '@daily' has 1 field. Write five: {FIELDS}; or six, with the second "
            f"first.",
        ),
        ("", {}, "the cron line must not be empty."),
        (9, {}, "the cron line must be text, got 9."),
        (
            "0 0 31 2 *",
            {},
            "the cron line '0 0 31 2 *' never fires: no date fits. Change its day or month.",
        ),
        (
            "0 0 */20 * 1L",
            {},
            "the cron line '0 0 */20 * 1L' never fires: no date fits. Change its day or month.",
        ),
        (
            "0 9 * * *",
            {"timezone": "Europe/Amsterdm"},
            "there is no time zone 'Europe/Amsterdm'. Did you mean 'Europe/Amsterdam'?",
        ),
        (
            "0 9 * * *",
            {"timezone": "../secret"},
            "there is no time zone '../secret'. Write one such as 'Europe/Amsterdam'.",
        ),
        ("0 9 * * *", {"timezone": AMSTERDAM}, None),
        (
            "0 9 * * *",
            {"overlap": "skpi"},
            "overlap must be 'skip', 'queue', 'cancel_running' or 'allow', got 'skpi'. Did you "
            "mean 'skip'?",
        ),
        (
            "0 9 * * *",
            {"missed": "none"},
            "missed must be 'latest', 'skip' or 'all', got 'none'.",
        ),
        ("0 9 * * *", {"jitter": 0}, "jitter must be longer than zero, got 0."),
        ("0 9 * * *", {"jitter": -1}, "jitter: -1 is negative."),
    ],
)
def test_a_bad_schedule_is_refused_where_it_is_written(
    line: Any, options: dict[str, Any], message: str | None
) -> None:
    with pytest.raises(StepConfigurationError) as refusal:
        gd.cron(line, **options)

    expected = message or f"timezone must be text, got {AMSTERDAM!r}."
    assert refusal.value.what == f"gd.cron: {expected}"
    assert str(refusal.value.where).startswith(__file__)


def test_a_schedule_is_made_by_gd_cron() -> None:
    with pytest.raises(StepConfigurationError) as refusal:

        class Digest(gd.Workflow):
            schedule = "0 9 * * *"  # type: ignore[assignment]  # the mistake

    assert refusal.value.what == (
        "Digest: schedule must be a gd.cron(...), got '0 9 * * *'. Write schedule = "
        "gd.cron('0 9 * * *')."
    )


def test_a_schedule_needs_a_context_type_with_defaults() -> None:
    @dataclass
    class Plan:
        name: str

    @dataclass
    class DefaultPlan:
        name: str = "basic"

    with pytest.raises(StepConfigurationError) as refusal:

        class Renewal(gd.Workflow[Any, Plan]):
            schedule = gd.cron("0 9 * * *")

    class Reminder(gd.Workflow[Any, DefaultPlan]):
        schedule = gd.cron("0 9 * * *")

    assert refusal.value.what == (
        "Renewal: a schedule starts its workflows without a context. The context of Renewal does "
        "not fit Plan: name: Field required. Give the fields of Plan defaults."
    )
    assert definition_of(Reminder).schedule is not None


@pytest.mark.parametrize(
    ("line", "after", "expected"),
    [
        pytest.param(
            "30 2 * * *",
            datetime(2026, 3, 28, 12, tzinfo=UTC),
            ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"],
            id="in the gap, a time of day fires at its end",
        ),
        pytest.param(
            "*/30 2 * * *",
            datetime(2026, 3, 28, 12, tzinfo=UTC),
            ["2026-03-30T02:00+02:00", "2026-03-30T02:30+02:00"],
            id="in the gap, a line with a star does not fire",
        ),
        pytest.param(
            "0 * * * *",
            datetime(2026, 3, 29, 0, 30, tzinfo=UTC),
            ["2026-03-29T03:00+02:00", "2026-03-29T04:00+02:00"],
            id="across the gap, an hourly line fires every 60 minutes",
        ),
        pytest.param(
            "30 2 * * *",
            datetime(2026, 10, 24, 12, tzinfo=UTC),
            ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
            id="in the repeat, a time of day fires the first time",
        ),
        pytest.param(
            "30 2 * * *",
            datetime(2026, 10, 25, 1, 10, tzinfo=UTC),
            ["2026-10-26T02:30+01:00", "2026-10-27T02:30+01:00"],
            id="seen in the repeat, it does not fire for the hour that is over",
        ),
        pytest.param(
            "*/30 2 * * *",
            datetime(2026, 10, 24, 12, tzinfo=UTC),
            [
                "2026-10-25T02:00+02:00",
                "2026-10-25T02:30+02:00",
                "2026-10-25T02:00+01:00",
                "2026-10-25T02:30+01:00",
            ],
            id="in the repeat, a line with a star fires both times",
        ),
        pytest.param(
            "0 * * * *",
            datetime(2026, 10, 24, 23, 30, tzinfo=UTC),
            ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00", "2026-10-25T03:00+01:00"],
            id="across the repeat, an hourly line fires every 60 minutes",
        ),
    ],
)
def test_daylight_saving_is_as_in_debians_cron(
    line: str, after: datetime, expected: list[str]
) -> None:
    cron = gd.cron(line, timezone="Europe/Amsterdam")

    moments = islice(cron.moments_after(after), len(expected))

    local = [moment.astimezone(AMSTERDAM).isoformat(timespec="minutes") for moment in moments]
    assert local == expected


def test_a_time_zone_that_this_machine_lacks_is_named() -> None:
    stored = Cron(
        line="0 9 * * *",
        timezone="Mars/Olympus",
        overlap=Overlap.SKIP,
        missed=MissedRuns.SKIP,
        jitter=None,
    )

    with pytest.raises(InvalidInput) as refusal:
        stored.first_after(datetime(2026, 1, 1, tzinfo=UTC))

    assert str(refusal.value) == (
        "This machine does not know the time zone 'Mars/Olympus', which another process has "
        "stored. Update its time zones, or the package tzdata."
    )
