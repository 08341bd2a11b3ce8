"""One log line for each kind of trouble, also if only some of the calls meet it."""

from __future__ import annotations

import logging

import pytest

from geneva_drive.errors import DatabaseBusy, DatabaseFull
from geneva_drive.storage.connections.trouble_log import TroubleLog
from tests.uptime import Seconds

BUSY = DatabaseBusy("db", "locked.")
FULL = DatabaseFull("db", "no space.")


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def log(seconds: Seconds, caplog: pytest.LogCaptureFixture) -> TroubleLog:
    caplog.set_level(logging.INFO, "geneva_drive.storage.connections.trouble_log")
    return TroubleLog(seconds)


def test_each_kind_of_trouble_is_one_line_and_its_end_another(
    log: TroubleLog, seconds: Seconds, caplog: pytest.LogCaptureFixture
) -> None:
    for error in (BUSY, FULL, BUSY, FULL):
        log.met(error)
    seconds.now += 5
    log.passed()
    log.passed()

    assert caplog.messages == [
        f"Waiting for the database, and trying again: {BUSY}",
        f"Waiting for the database, and trying again: {FULL}",
        "The database answers again, after 5s",
    ]


def test_a_trouble_that_some_calls_meet_while_others_succeed_is_one_line(
    log: TroubleLog, seconds: Seconds, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(20):
        log.met(BUSY)
        seconds.now += 1
        log.passed()
        seconds.now += 5

    assert caplog.messages == [
        f"Waiting for the database, and trying again: {BUSY}",
        "The database answers again, after 1s",
    ]


def test_a_trouble_that_comes_back_after_a_while_is_another_line(
    log: TroubleLog, seconds: Seconds, caplog: pytest.LogCaptureFixture
) -> None:
    log.met(BUSY)
    log.passed()
    seconds.now += 11
    log.met(BUSY)

    assert caplog.messages == [
        f"Waiting for the database, and trying again: {BUSY}",
        "The database answers again, after 0 ms",
        f"Waiting for the database, and trying again: {BUSY}",
    ]


def test_the_present_trouble_is_the_one_that_was_met_and_has_not_passed(
    log: TroubleLog, seconds: Seconds
) -> None:
    at_first = log.current()
    log.met(BUSY)
    met = log.current()
    log.passed()
    passed = log.current()
    log.met(BUSY)
    again = log.current()
    seconds.now += 31
    forgotten = log.current()

    assert (at_first, met, passed, again, forgotten) == (None, str(BUSY), None, str(BUSY), None)
