from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from geneva_drive.clock import ShiftedClock, SystemClock
from geneva_drive.errors import InvalidInput
from geneva_drive.limit import Limit
from geneva_drive.settings import Settings, database_url_from_environment

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_defaults_are_those_of_the_contract() -> None:
    settings = Settings.read({}, {})

    assert settings.table_prefix == "geneva_drive_"
    assert settings.lease == timedelta(seconds=60)
    assert settings.heartbeat_interval == timedelta(seconds=10)
    assert settings.poll_interval == timedelta(seconds=1)
    assert settings.drain_timeout == timedelta(seconds=30)
    assert settings.max_recoveries == 3
    assert settings.queue_limits == {}
    assert settings.stale_after is None
    assert settings.retention is None
    assert settings.max_cursor_size == 131_072
    assert settings.max_result_size == 1_048_576
    assert settings.max_payload_size == 1_048_576
    assert settings.sqlite_durability == "normal"
    assert settings.session_factory is None
    assert isinstance(settings.clock, SystemClock)


@pytest.mark.parametrize("name", [field.name for field in fields(Settings)])
def test_every_setting_is_documented(name: str) -> None:
    assert f"\n| `{name}` | " in PAGE.read_text()


CASES: list[tuple[str, object, str, object]] = [
    ("table_prefix", "app_", "app_", "app_"),
    ("lease", timedelta(minutes=2), "2m", timedelta(minutes=2)),
    ("heartbeat_interval", 5, "5", timedelta(seconds=5)),
    ("poll_interval", 0.25, "250ms", timedelta(milliseconds=250)),
    ("drain_timeout", 0, "0", timedelta(0)),
    ("max_recoveries", 0, "0", 0),
    (
        "queue_limits",
        {"mail": Limit(concurrency=5, rate="100/m"), "bulk": Limit(rate="5/2s")},
        "mail=5, mail=100/m,bulk = 5/2s,",
        {"mail": Limit(concurrency=5, rate="100/m"), "bulk": Limit(rate="5/2s")},
    ),
    ("stale_after", "2h", "2h", timedelta(hours=2)),
    ("retention", "30d", "30d", timedelta(days=30)),
    ("masked_fields", ["card", "pin"], "card, pin,", frozenset({"card", "pin"})),
    ("max_cursor_size", 0, "0", 0),
    ("max_result_size", 10, "10", 10),
    ("max_payload_size", 20, " 20 ", 20),
    ("sqlite_durability", "full", "full", "full"),
    ("notify", False, "off", False),
]


@pytest.mark.parametrize(
    ("name", "given", "written", "expected"), CASES, ids=[case[0] for case in CASES]
)
def test_a_setting_is_read_from_a_keyword_and_from_the_environment(
    name: str, given: object, written: str, expected: object
) -> None:
    from_keyword = Settings.read({name: given}, {})
    from_environment = Settings.read({}, {f"GENEVA_{name.upper()}": written})

    assert getattr(from_keyword, name) == expected
    assert getattr(from_environment, name) == expected


def test_a_keyword_wins_over_the_environment() -> None:
    settings = Settings.read({"lease": "90s"}, {"GENEVA_LEASE": "120s"})

    assert settings.lease == timedelta(seconds=90)


@pytest.mark.parametrize("off", [None, "", "off"])
def test_retention_may_be_turned_off(off: Any) -> None:
    assert Settings.read({"retention": off}, {"GENEVA_RETENTION": "1d"}).retention is None


def test_clock_and_session_factory_are_taken_as_they_are() -> None:
    clock = ShiftedClock(SystemClock(), timedelta(days=1))

    settings = Settings.read({"clock": clock, "session_factory": dict}, {"GENEVA_CLOCK": "wall"})

    assert settings.clock is clock
    assert settings.session_factory is dict


def test_an_unknown_setting_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput) as caught:
        Settings.read({"leese": 60}, {})

    assert str(caught.value) == (
        "There is no setting 'leese'. Did you mean 'lease'? The settings are: database_url, "
        "auto_resume_after_approval, clock, drain_timeout, heartbeat_interval, jwks, "
        "jwt_audience, jwt_issuer, jwt_secret, lease, masked_fields, max_body_size, "
        "max_cursor_size, max_payload_size, max_recoveries, max_result_size, notify, "
        "poll_interval, public_url, queue_limits, rate_limit, resume_auto_escalate, "
        "resume_timeout, resume_worker_interval, retention, session_factory, session_secret, "
        "sqlite_durability, stale_after, table_prefix, webhook_allowed_hosts, webhook_secret."
    )


def test_other_variables_of_the_environment_are_left_alone() -> None:
    assert Settings.read({}, {"GENEVA_LEESE": "1", "LEASE": "2"}).lease == timedelta(seconds=60)


BAD: list[tuple[str, object, str]] = [
    ("lease", 0, " must be longer than zero, got 0."),
    ("lease", -5, ": -5 is negative."),
    ("lease", "soon", ": 'soon' is not a duration (a timedelta, seconds, or text such as '30s')."),
    ("poll_interval", "0s", " must be longer than zero, got '0s'."),
    ("drain_timeout", -1, ": -1 is negative."),
    ("masked_fields", [7], " must be names of fields, got 7."),
    ("masked_fields", 7, " must be a list of names of fields, got 7."),
    (
        "retention",
        "ever",
        ": 'ever' is not a duration (a timedelta, seconds, or text such as '30s').",
    ),
    ("max_recoveries", -1, " must be at least 0, got -1."),
    ("max_recoveries", "three", " must be a whole number, got 'three'."),
    ("max_recoveries", "-3", " must be a whole number, got '-3'."),
    ("max_recoveries", True, " must be a whole number, got True."),
    ("max_cursor_size", -1, " must be at least 0, got -1."),
    ("max_result_size", 1.5, " must be a whole number, got 1.5."),
    ("table_prefix", "", " must be at most 30 letters, digits and underscores, got ''."),
    (
        "table_prefix",
        "drop table",
        " must be at most 30 letters, digits and underscores, got 'drop table'.",
    ),
    (
        "table_prefix",
        "x" * 31,
        f" must be at most 30 letters, digits and underscores, got {'x' * 31!r}.",
    ),
    ("queue_limits", 5, " must be a dictionary of queues and gd.Limit, got 5."),
    ("queue_limits", {"mail": 5}, ": the limit of queue 'mail' must be a gd.Limit, got 5."),
    ("queue_limits", {"": Limit(concurrency=5)}, ": the name of a queue must not be empty."),
    ("queue_limits", {7: Limit(concurrency=5)}, ": the name of a queue must be text, got 7."),
    (
        "queue_limits",
        {"mail": Limit()},
        ": the limit of queue 'mail' needs concurrency, rate or both.",
    ),
    (
        "queue_limits",
        {"mail": Limit(key="crm", concurrency=5)},
        ": the limit of queue 'mail' must not have a key: the queue is its key.",
    ),
    (
        "queue_limits",
        "mail=0",
        ": the limit of queue 'mail': concurrency must be at least 1, got 0.",
    ),
    ("queue_limits", "mail=many", " must be written queue=5 or queue=100/m, got 'mail=many'."),
    ("queue_limits", "5", " must be written queue=5 or queue=100/m, got '5'."),
    ("queue_limits", "=5", ": the name of a queue must not be empty."),
    ("sqlite_durability", "off", " must be 'normal' or 'full', got 'off'."),
    ("notify", "maybe", " must be 'on' or 'off', got 'maybe'."),
]


@pytest.mark.parametrize(
    ("name", "value", "words"), BAD, ids=[f"{name} {value!r}" for name, value, _ in BAD]
)
def test_a_bad_setting_is_refused_by_the_name_it_was_written_with(
    name: str, value: object, words: str
) -> None:
    with pytest.raises(InvalidInput) as by_keyword:
        Settings.read({name: value}, {})

    assert str(by_keyword.value) == f"Setting {name}{words}"


def test_a_bad_variable_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidInput) as caught:
        Settings.read({}, {"GENEVA_MAX_RECOVERIES": "many"})

    assert str(caught.value) == (
        "Setting GENEVA_MAX_RECOVERIES must be a whole number, got 'many'."
    )


def test_the_longest_prefix_and_the_slowest_heartbeat_are_taken() -> None:
    settings = Settings.read({"table_prefix": "x" * 30, "lease": 10, "heartbeat_interval": 5}, {})

    assert settings.table_prefix == "x" * 30
    assert settings.heartbeat_interval == timedelta(seconds=5)


@pytest.mark.parametrize(("given", "enough"), [("3s", "1s"), ("600 ms", "200 ms")])
def test_a_heartbeat_that_is_too_slow_for_the_lease_is_refused(given: str, enough: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Settings.read({"lease": given}, {})

    assert str(caught.value) == (
        f"heartbeat_interval (10s) must be at most half of lease ({given}), or one late heartbeat "
        f"would cost a healthy worker its work. Also set heartbeat_interval={enough!r}, or a "
        f"longer lease."
    )


def test_the_database_is_named_by_the_environment_or_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GENEVA_DATABASE_URL", "postgresql://db/app")
    named = database_url_from_environment()
    monkeypatch.setenv("GENEVA_DATABASE_URL", "")
    empty = database_url_from_environment()
    monkeypatch.delenv("GENEVA_DATABASE_URL")

    assert (named, empty) == ("postgresql://db/app", "sqlite:///geneva.db")
    assert database_url_from_environment() == "sqlite:///geneva.db"
