from __future__ import annotations

import dataclasses
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.states import Outcome, StepState, WorkflowState
from geneva_drive.telemetry import Events, StepLogger, TelemetryEvent, identifiers

AT = datetime(2026, 1, 1, tzinfo=UTC)
IDS = {
    "geneva_type": "Signup",
    "geneva_workflow_id": 7,
    "geneva_hero_type": "User",
    "geneva_hero_id": "42",
    "geneva_step_name": "welcome",
    "geneva_execution_id": 9,
}


def step_changed(**changes: Any) -> gd.StepChanged:
    event = gd.StepChanged(
        workflow_id=7,
        type="Signup",
        hero_type="User",
        hero_id="42",
        execution_id=9,
        step_name="welcome",
        from_state=StepState.IN_PROGRESS,
        to_state=StepState.COMPLETED,
        outcome=Outcome.SUCCESS,
        at=AT,
    )
    return dataclasses.replace(event, **changes)


WORKFLOW_CHANGED = gd.WorkflowChanged(
    workflow_id=7,
    type="Signup",
    hero_type=None,
    hero_id=None,
    from_state=None,
    to_state=WorkflowState.READY,
    at=AT,
)


def test_every_subscriber_is_told_in_order() -> None:
    events = Events()
    told: list[tuple[str, TelemetryEvent]] = []
    events.subscribe(lambda event: told.append(("first", event)))
    events.subscribe(lambda event: told.append(("second", event)))

    events.emit([step_changed(), WORKFLOW_CHANGED])

    assert told == [
        ("first", step_changed()),
        ("second", step_changed()),
        ("first", WORKFLOW_CHANGED),
        ("second", WORKFLOW_CHANGED),
    ]


def test_unsubscribing_ends_it_and_may_be_repeated() -> None:
    events = Events()
    told: list[TelemetryEvent] = []
    unsubscribe = events.subscribe(told.append)

    unsubscribe()
    unsubscribe()
    events.emit([WORKFLOW_CHANGED])

    assert told == []


def test_a_subscriber_that_unsubscribes_while_it_is_told_harms_nobody() -> None:
    events = Events()
    told: list[TelemetryEvent] = []

    def once(event: TelemetryEvent) -> None:
        unsubscribe()

    unsubscribe = events.subscribe(once)
    events.subscribe(told.append)

    events.emit([WORKFLOW_CHANGED, WORKFLOW_CHANGED])

    assert told == [WORKFLOW_CHANGED, WORKFLOW_CHANGED]


def test_a_raising_subscriber_is_logged_and_harms_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    events = Events()
    told: list[TelemetryEvent] = []

    def broken(event: TelemetryEvent) -> None:
        raise ValueError("no")

    events.subscribe(broken)
    events.subscribe(told.append)

    events.emit([WORKFLOW_CHANGED])

    assert told == [WORKFLOW_CHANGED]
    [record] = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert record.getMessage() == f"Subscriber {broken!r} failed on {WORKFLOW_CHANGED!r}"
    assert record.exc_info is not None


def test_events_are_wanted_by_a_subscriber_or_by_the_log() -> None:
    events = Events()
    library = logging.getLogger("geneva_drive")
    former = library.level
    try:
        library.setLevel(logging.WARNING)
        unwanted = events.wanted
        library.setLevel(logging.INFO)
        by_the_log = events.wanted
        library.setLevel(logging.WARNING)
        unsubscribe = events.subscribe(lambda event: None)
        by_a_subscriber = events.wanted
        unsubscribe()
    finally:
        library.setLevel(former)

    assert (unwanted, by_the_log, by_a_subscriber) == (False, True, True)


LINES: list[tuple[TelemetryEvent, str, str]] = [
    (
        step_changed(),
        "INFO",
        "[Signup workflow=7 hero=User/42 step=welcome execution=9] "
        "step in_progress -> completed (success)",
    ),
    (
        step_changed(from_state=None, to_state=StepState.SCHEDULED, outcome=None),
        "INFO",
        "[Signup workflow=7 hero=User/42 step=welcome execution=9] step new -> scheduled",
    ),
    (
        step_changed(to_state=StepState.FAILED, outcome=Outcome.PAUSED_BY_EXCEPTION),
        "WARNING",
        "[Signup workflow=7 hero=User/42 step=welcome execution=9] "
        "step in_progress -> failed (paused_by_exception)",
    ),
    (WORKFLOW_CHANGED, "INFO", "[Signup workflow=7] workflow new -> ready"),
]


@pytest.mark.parametrize(
    ("event", "level", "line"), LINES, ids=["completed", "scheduled", "failed", "workflow"]
)
def test_every_change_is_one_line_in_the_log(
    caplog: pytest.LogCaptureFixture, event: TelemetryEvent, level: str, line: str
) -> None:
    with caplog.at_level(logging.INFO, logger="geneva_drive"):
        Events().emit([event])

    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [(level, line)]


def test_a_line_of_the_log_carries_all_ids(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="geneva_drive"):
        Events().emit([step_changed()])

    [record] = caplog.records
    assert {name: vars(record)[name] for name in IDS} == IDS


def test_a_quiet_log_gets_only_failures(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="geneva_drive"):
        Events().emit([step_changed(), step_changed(to_state=StepState.FAILED)])

    assert [r.levelname for r in caplog.records] == ["WARNING"]


def step_logger(hero_id: str = "42") -> StepLogger:
    ids = identifiers(
        type_name="Signup",
        workflow_id=7,
        hero=("User", hero_id),
        step_name="welcome",
        execution_id=9,
    )
    return StepLogger("tests.signup", ids)


def test_the_logger_of_a_step_carries_all_ids(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        step_logger().info("sent to %s", "a@example.com")

    [record] = caplog.records
    assert record.name == "tests.signup"
    assert record.getMessage() == (
        "[Signup workflow=7 hero=User/42 step=welcome execution=9] sent to a@example.com"
    )
    assert {name: vars(record)[name] for name in IDS} == IDS


def test_the_logger_of_a_step_keeps_extras_of_the_user(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        step_logger().info("sent", extra={"template": "welcome"})

    [record] = caplog.records
    assert vars(record)["template"] == "welcome"
    assert vars(record)["geneva_workflow_id"] == 7


def test_a_hero_id_with_a_percent_sign_breaks_no_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        step_logger(hero_id="100%d").info("%s of it", "all")

    assert caplog.records[0].getMessage() == (
        "[Signup workflow=7 hero=User/100_d step=welcome execution=9] all of it"
    )
