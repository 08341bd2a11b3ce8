"""What subscribers are told, and when."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step, speedrun

Event = gd.TelemetryEvent


@dataclass
class Told:
    """The events that a subscriber was told, and a short form of each."""

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def changes(self) -> list[tuple[str, str | None, str, str | None]]:
        return [
            (
                event.step_name or "" if isinstance(event, gd.StepChanged) else "workflow",
                event.from_state,
                event.to_state,
                event.outcome,
            )
            for event in self.events
        ]


@pytest.fixture
def told(geneva: gd.Drive) -> Iterator[Told]:
    told = Told()
    unsubscribe = geneva.events.subscribe(told)
    yield told
    unsubscribe()


class Delivery(gd.Workflow[Any]):
    type_name = "test_events.Delivery"

    @gd.step
    def pack(self) -> None:
        if self.context.get("torn"):
            raise ValueError("torn")

    @gd.step
    def ship(self) -> None: ...


def test_every_state_change_of_a_run_is_told_in_order(geneva: gd.Drive, told: Told) -> None:
    speedrun(Delivery.create())

    assert told.changes == [
        ("workflow", None, "ready", None),
        ("pack", None, "scheduled", None),
        ("pack", "scheduled", "in_progress", None),
        ("pack", "in_progress", "completed", "success"),
        ("ship", None, "scheduled", None),
        ("ship", "scheduled", "in_progress", None),
        ("ship", "in_progress", "completed", "success"),
        ("workflow", "ready", "finished", "success"),
    ]


def test_an_event_names_everything_it_is_about(geneva: gd.Drive, told: Told) -> None:
    workflow = Delivery.create(gd.HeroRef("Pilot", "ada"))
    created, scheduled = told.events

    assert created == gd.WorkflowChanged(
        workflow_id=workflow.id,
        type="test_events.Delivery",
        hero_type="Pilot",
        hero_id="ada",
        from_state=None,
        to_state=gd.WorkflowState.READY,
        at=workflow.created_at,
    )
    assert scheduled == gd.StepChanged(
        workflow_id=workflow.id,
        type="test_events.Delivery",
        hero_type="Pilot",
        hero_id="ada",
        execution_id=workflow.step_executions[0].id,
        step_name="pack",
        from_state=None,
        to_state=gd.StepState.SCHEDULED,
        outcome=None,
        at=workflow.created_at,
    )


def test_a_failed_steps_event_carries_the_exception(geneva: gd.Drive, told: Told) -> None:
    speedrun(Delivery.create(context={"torn": True}))

    failed = told.events[-2]
    assert told.changes[-2:] == [
        ("pack", "in_progress", "failed", "paused_by_exception"),
        ("workflow", "ready", "paused", "paused_by_exception"),
    ]
    assert isinstance(failed, gd.StepChanged)
    assert isinstance(failed.error, ValueError)
    assert failed.error.__traceback__ is not None


def test_an_execution_that_is_given_back_is_told_without_an_exception(
    geneva: gd.Drive, told: Told
) -> None:
    Delivery.create()
    with crash_after("claim"):
        drain(geneva)
    geneva.housekeep()

    assert told.changes[-2:] == [
        ("pack", "in_progress", "failed", "recovered"),
        ("pack", None, "scheduled", None),
    ]
    lost = told.events[-2]
    assert isinstance(lost, gd.StepChanged)
    assert lost.error is None


def test_commands_are_told(geneva: gd.Drive, told: Told) -> None:
    workflow = Delivery.create()
    told.events.clear()

    workflow.pause()
    workflow.resume()
    workflow.resume_at("ship")
    workflow.cancel()

    assert told.changes == [
        ("workflow", "ready", "paused", None),
        ("workflow", "paused", "ready", None),
        ("pack", "scheduled", "canceled", "canceled_by_operator"),
        ("ship", None, "scheduled", None),
        ("ship", "scheduled", "canceled", "canceled_by_operator"),
        ("workflow", "ready", "canceled", "canceled_by_operator"),
    ]


def test_a_step_that_is_passed_over_after_its_failure_is_told(geneva: gd.Drive, told: Told) -> None:
    workflow = speedrun(Delivery.create(context={"torn": True}))
    told.events.clear()

    workflow.skip()

    assert told.changes == [
        ("pack", None, "skipped", "skipped_by_operator"),
        ("ship", None, "scheduled", None),
        ("workflow", "paused", "ready", None),
    ]


def test_a_step_that_a_requested_cancel_keeps_from_running_is_told(
    geneva: gd.Drive, told: Told
) -> None:
    class CanceledMeanwhile(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            self.handle.cancel()

        @gd.step
        def ship(self) -> None: ...

    speedrun(CanceledMeanwhile.create())

    steps = [change for change in told.changes if change[0] != "workflow"]
    assert steps[-2:] == [
        ("pack", "in_progress", "completed", "success"),
        ("ship", None, "canceled", "canceled_by_operator"),
    ]
    assert told.events[-1].to_state == "canceled"


def test_an_event_is_told_after_the_commit(geneva: gd.Drive) -> None:
    seen: list[tuple[str, str]] = []

    def look(event: Event) -> None:
        if isinstance(event, gd.WorkflowChanged):
            stored = gd.Workflow.find(event.workflow_id).state
            seen.append((event.to_state, stored))

    geneva.events.subscribe(look)
    Delivery.create().pause().cancel()

    assert seen == [("ready", "ready"), ("paused", "paused"), ("canceled", "canceled")]


def test_a_refused_command_is_not_told(geneva: gd.Drive, told: Told) -> None:
    workflow = Delivery.create()
    told.events.clear()
    with pytest.raises(gd.errors.InvalidStateError):
        workflow.resume()

    assert told.events == []


def test_a_known_idempotency_key_is_told_once(geneva: gd.Drive, told: Told) -> None:
    Delivery.create(idempotency_key="call 1")
    Delivery.create(idempotency_key="call 1")

    assert len(told.events) == 2


def test_a_class_without_steps_is_told_as_finished(geneva: gd.Drive, told: Told) -> None:
    class Nothing(gd.Workflow): ...

    Nothing.create()

    assert told.changes == [("workflow", None, "finished", None)]


def test_a_subscriber_that_raises_harms_nobody(
    geneva: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble(event: Event) -> None:
        raise ValueError("a broken pager")

    told = Told()
    geneva.events.subscribe(stumble)
    geneva.events.subscribe(told)
    workflow = speedrun(Delivery.create())

    assert workflow.state == "finished"
    assert len(told.events) == 8
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 8
    assert errors[0].getMessage().startswith(f"Subscriber {stumble!r} failed on WorkflowChanged(")


def test_who_has_unsubscribed_is_told_no_more(geneva: gd.Drive) -> None:
    told = Told()
    unsubscribe = geneva.events.subscribe(told)
    workflow = Delivery.create()
    unsubscribe()
    unsubscribe()

    perform_next_step(workflow)

    assert len(told.events) == 2


def test_drives_tell_their_own_subscribers_only(geneva: gd.Drive, told: Told) -> None:
    other = gd.Drive(geneva.engine)

    Delivery.using(other).create()

    assert told.events == []
