"""How a Drive is told to behave."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain

URL = "sqlite:///never_opened.db"


def test_settings_have_their_documented_defaults() -> None:
    settings = gd.Drive(URL).settings

    assert settings.table_prefix == "geneva_drive_"
    assert settings.lease == timedelta(seconds=60)
    assert settings.heartbeat_interval == timedelta(seconds=10)
    assert settings.poll_interval == timedelta(seconds=1)
    assert settings.drain_timeout == timedelta(seconds=30)
    assert settings.max_recoveries == 3
    assert settings.retention is None
    assert settings.sqlite_durability == "normal"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (90, timedelta(seconds=90)),
        (timedelta(minutes=2), timedelta(minutes=2)),
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("24h", timedelta(hours=24)),
        ("90", timedelta(seconds=90)),
    ],
    ids=str,
)
def test_durations_are_written_in_seconds_or_with_a_unit(value: Any, expected: timedelta) -> None:
    assert gd.Drive(URL, lease=value).settings.lease == expected


def test_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENEVA_LEASE", "2m")
    monkeypatch.setenv("GENEVA_MAX_RECOVERIES", "7")
    monkeypatch.setenv("GENEVA_TABLE_PREFIX", "mine_")
    monkeypatch.setenv("GENEVA_RETENTION", "off")

    settings = gd.Drive(URL).settings

    assert (settings.lease, settings.max_recoveries) == (timedelta(minutes=2), 7)
    assert (settings.table_prefix, settings.retention) == ("mine_", None)


def test_a_keyword_stands_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENEVA_MAX_RECOVERIES", "7")

    assert gd.Drive(URL, max_recoveries=1).settings.max_recoveries == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"lease": "soon"},
            "Setting lease: 'soon' is not a duration (a timedelta, seconds, or text such as "
            "'30s').",
        ),
        ({"lease": -1}, "Setting lease: -1 is negative."),
        ({"lease": 0}, "Setting lease must be longer than zero, got 0."),
        ({"max_recoveries": -1}, "Setting max_recoveries must be at least 0, got -1."),
        (
            {"table_prefix": "drop table;"},
            "Setting table_prefix must be at most 30 letters, digits and underscores, got "
            "'drop table;'.",
        ),
        (
            {"sqlite_durability": "some"},
            "Setting sqlite_durability must be 'normal' or 'full', got 'some'.",
        ),
        (
            {"heartbeat_interval": 40},
            "heartbeat_interval (40s) must be at most half of lease (1m), or one late heartbeat "
            "would cost a healthy worker its work. Also set heartbeat_interval='20s', or a longer "
            "lease.",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_setting_that_makes_no_sense_is_refused_by_its_name(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        gd.Drive(URL, **settings)

    assert str(refusal.value) == message


def test_a_variable_that_makes_no_sense_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GENEVA_LEASE", "soon")

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        gd.Drive(URL)

    assert str(refusal.value) == (
        "Setting GENEVA_LEASE: 'soon' is not a duration (a timedelta, seconds, or text such as "
        "'30s')."
    )


def test_an_unknown_setting_is_refused_with_those_there_are() -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        gd.Drive(URL, leese=3)

    assert str(refusal.value) == (
        "There is no setting 'leese'. Did you mean 'lease'? The settings are: database_url, "
        "auto_resume_after_approval, clock, drain_timeout, heartbeat_interval, jwks, jwt_audience, "
        "jwt_issuer, jwt_secret, lease, masked_fields, max_body_size, max_cursor_size, "
        "max_payload_size, max_recoveries, max_result_size, notify, poll_interval, public_url, "
        "queue_limits, rate_limit, resume_auto_escalate, resume_timeout, resume_worker_interval, "
        "retention, session_factory, session_secret, sqlite_durability, stale_after, "
        "table_prefix, webhook_allowed_hosts, webhook_secret."
    )


class ClockOnTheWall:
    def __init__(self, told: datetime) -> None:
        self.told = told

    def now(self) -> datetime:
        return self.told


def test_a_wait_lasts_as_long_on_a_local_clock_when_summer_time_ends(geneva: gd.Drive) -> None:
    class Reminder(gd.Workflow):
        @gd.step(wait=timedelta(hours=1))
        def remind(self) -> None: ...

    berlin = ZoneInfo("Europe/Berlin")
    geneva.clock = clock = ClockOnTheWall(datetime(2026, 10, 25, 2, 30, tzinfo=berlin))
    reminder = Reminder.create()

    clock.told = datetime(2026, 10, 25, 2, 29, fold=1, tzinfo=berlin)
    early = drain(geneva)
    clock.told = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=berlin)
    in_time = drain(geneva)

    [execution] = reminder.step_executions
    assert (early, in_time) == (0, 1)
    assert execution.scheduled_for == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
