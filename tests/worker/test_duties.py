"""A duty is done in rounds: so many in one go, or all of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

import geneva_drive as gd
from geneva_drive.engine.environment import Environment
from geneva_drive.errors import DatabaseUnavailable
from geneva_drive.settings import Settings
from geneva_drive.storage.connections.trouble_log import TroubleLog
from geneva_drive.worker.housekeeping.duties import do_duties, duties
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound
from geneva_drive.worker.service import Periodic, report_failure
from tests.worker.watching import wait


def made_of(rounds: Iterator[DutyRound]) -> Duty:
    def do_round(environment: Environment) -> DutyRound:
        return next(rounds)

    return Duty(name="test", every=timedelta(seconds=1), do_round=do_round, max_rounds=2)


def test_one_go_ends_after_so_many_rounds(geneva: gd.Drive) -> None:
    rounds = iter([DutyRound(3, True), DutyRound(4, True), DutyRound(5, True)])

    assert made_of(rounds).do(geneva.environment) == 7

    assert next(rounds) == DutyRound(5, True)


def test_one_go_ends_when_nothing_is_left(geneva: gd.Drive) -> None:
    rounds = iter([DutyRound(3, False), DutyRound(4, True)])

    assert made_of(rounds).do(geneva.environment) == 3

    assert next(rounds) == DutyRound(4, True)


def test_a_duty_is_finished_when_nothing_is_left(geneva: gd.Drive) -> None:
    rounds = iter([DutyRound(3, True), DutyRound(0, True), DutyRound(4, False), DutyRound(5, True)])

    assert made_of(rounds).finish(geneva.environment) == 7

    assert next(rounds) == DutyRound(5, True)


def test_duties_with_nothing_to_do_only_read(geneva: gd.Drive) -> None:
    do_duties(geneva.environment)
    asked: list[str] = []

    @event.listens_for(geneva.engine, "before_cursor_execute")
    def collect(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if statement != "DISCARD PLANS":  # once a second, whatever is asked
            asked.append(statement.split()[0])

    do_duties(geneva.environment)

    # Workers and what they hold; types with ready workflows; two sides of waits for children, and
    # of waits for events; expired events; the marks of counters. SQLite would wait for its one
    # writer to write.
    assert asked[:9] == ["SELECT"] * 9
    assert set(asked) == {"SELECT"}  # a minute may have passed, in which nothing ended


def test_the_duties_of_a_worker_are_done_as_often_as_its_heart_beats() -> None:
    settings = Settings.read({"heartbeat_interval": 7, "retention": "30d"}, {})

    assert [(duty.name, duty.every.total_seconds()) for duty in duties(settings)] == [
        ("recovery", 7),
        ("orphans", 7),
        ("waits", 7),
        ("events", 7),
        ("triggers", 1),  # events start workflows soon
        ("stale workflows", 7),
        ("activity", 7),
        ("documents", 7),
        ("retention", 7),
    ]


def test_what_is_done_again_and_again_begins_when_it_is_told_to() -> None:
    begun, done = threading.Event(), list[str]()

    def act() -> None:
        done.append("once")
        begun.set()

    once_a_day = Periodic("test", timedelta(days=1), act, TroubleLog(), first_after=timedelta())
    once_a_day.start()
    wait(begun)
    once_a_day.stop(timeout=10)

    assert done == ["once"]


def test_duties_begin_after_a_heartbeat_and_not_all_at_once(geneva: gd.Drive) -> None:
    every = geneva.settings.heartbeat_interval
    services = [one for one in geneva.worker()._services if isinstance(one, Periodic)]

    heartbeat, *others = (one.first_after for one in services)

    assert heartbeat == every
    listed = duties(geneva.settings)
    assert all(
        duty.every <= after < 2 * duty.every for duty, after in zip(listed, others, strict=True)
    )
    assert len(set(others)) == len(others) == 8


def test_a_database_that_is_away_is_told_of_in_a_line(caplog: pytest.LogCaptureFixture) -> None:
    gone = OperationalError(
        "SELECT 1", None, Exception("server closed the connection\n\tunexpectedly")
    )

    log = TroubleLog()
    report_failure("Heartbeat", gone, 1.0, log)
    for _ in range(3):
        report_failure("Recovery", DatabaseUnavailable("sqlite://", "no such host"), 1.0, log)
    report_failure("Orphans", ZeroDivisionError("ours"), 10.0, log)

    of_database, of_another, of_ours = caplog.records
    assert of_database.getMessage() == (
        "Heartbeat failed; next try in 1s: server closed the connection unexpectedly"
    )
    assert (of_database.levelname, of_database.exc_info) == ("WARNING", None)
    assert "no such host" in of_another.getMessage()
    assert (of_another.levelname, of_another.exc_info) == ("WARNING", None)
    assert (of_ours.getMessage(), of_ours.levelname) == ("Orphans failed; next try in 10s", "ERROR")
    assert of_ours.exc_info is not None
