"""What subscribers are told of requests for approval."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, StandingClock, asked, reach

HOUR = timedelta(hours=1)


class Refund(gd.Workflow[Any]):
    type_name = "test_approval_events.Refund"

    @gd.approval(
        role="manager",
        timeout=HOUR,
        on_timeout="escalate",
        escalate_to="director",
        quorum=lambda self: self.context.get("quorum", 1),
        on_reject="continue",
    )
    def manager(self, decision: Decision) -> None: ...


@pytest.fixture
def told(geneva: gd.Drive, clock: StandingClock) -> Iterator[list[gd.ApprovalChanged]]:
    told: list[gd.ApprovalChanged] = []

    def note(event: gd.TelemetryEvent) -> None:
        if isinstance(event, gd.ApprovalChanged):
            told.append(event)

    unsubscribe = geneva.events.subscribe(note)
    yield told
    unsubscribe()


def requested(drive: gd.Drive, told: list[gd.ApprovalChanged], **given: Any) -> Handle:
    """Bring a workflow to its approval, and forget what was told of that."""
    workflow = reach(drive, Refund, **given)
    told.clear()
    return workflow


def event_of(workflow: Handle, request: gd.Approval, **fields: Any) -> gd.ApprovalChanged:
    """Return the event that is expected of a workflow's request."""
    [execution] = workflow.step_executions
    return gd.ApprovalChanged(
        workflow_id=workflow.id,
        type=Refund.type_name,
        hero_type=workflow.hero_type,
        hero_id=workflow.hero_id,
        execution_id=execution.id,
        step_name="manager",
        approval_id=request.id,
        **fields,
    )


def test_a_request_is_told(
    geneva: gd.Drive, clock: StandingClock, told: list[gd.ApprovalChanged]
) -> None:
    workflow = reach(geneva, Refund, hero=gd.HeroRef("AskedOrder", "7"))

    expected = event_of(
        workflow,
        asked(geneva),
        action="requested",
        from_state=None,
        to_state="pending",
        at=clock.moment,
    )
    assert told == [expected]
    assert (told[0].hero_type, told[0].hero_id) == ("AskedOrder", "7")


@pytest.mark.parametrize(("choice", "state"), [("approve", "approved"), ("reject", "rejected")])
def test_a_decision_is_told(
    geneva: gd.Drive,
    clock: StandingClock,
    told: list[gd.ApprovalChanged],
    choice: str,
    state: str,
) -> None:
    workflow = requested(geneva, told)
    clock.advance(timedelta(minutes=1))

    request = asked(geneva).decide(choice, by="ann")

    expected = event_of(
        workflow,
        request,
        action="decided",
        from_state="pending",
        to_state=state,
        at=clock.moment,
        by="ann",
    )
    assert told == [expected]


def test_a_vote_that_decides_nothing_is_not_told(
    geneva: gd.Drive, told: list[gd.ApprovalChanged]
) -> None:
    requested(geneva, told, context={"quorum": 2})

    asked(geneva).approve(by="ann")
    assert told == []
    asked(geneva).approve(by="bob")

    assert [(event.action, event.by) for event in told] == [("decided", "bob")]


def test_a_delegation_is_told(
    geneva: gd.Drive, clock: StandingClock, told: list[gd.ApprovalChanged]
) -> None:
    workflow = requested(geneva, told)

    request = asked(geneva).delegate(to="eve", by="ann")

    expected = event_of(
        workflow,
        request,
        action="delegated",
        from_state="pending",
        to_state="pending",
        at=clock.moment,
        by="ann",
        to="eve",
    )
    assert told == [expected]


def test_an_escalation_by_hand_is_told(
    geneva: gd.Drive, clock: StandingClock, told: list[gd.ApprovalChanged]
) -> None:
    workflow = requested(geneva, told)

    request = asked(geneva).escalate(to="board", by="ann")

    expected = event_of(
        workflow,
        request,
        action="escalated",
        from_state="pending",
        to_state="pending",
        at=clock.moment,
        by="ann",
        to="board",
    )
    assert told == [expected]


def test_deadlines_are_told(
    geneva: gd.Drive, clock: StandingClock, told: list[gd.ApprovalChanged]
) -> None:
    workflow = requested(geneva, told)
    request = asked(geneva)

    clock.advance(HOUR)
    drain(geneva)
    clock.advance(HOUR)
    drain(geneva)

    escalated = event_of(
        workflow,
        request,
        action="escalated",
        from_state="pending",
        to_state="pending",
        at=clock.moment - HOUR,
        to="director",
    )
    expired = event_of(
        workflow,
        request,
        action="expired",
        from_state="pending",
        to_state="expired",
        at=clock.moment,
    )
    assert told == [escalated, expired]


def test_what_is_refused_is_not_told(geneva: gd.Drive, told: list[gd.ApprovalChanged]) -> None:
    requested(geneva, told)

    with pytest.raises(gd.errors.NotPermitted):
        asked(geneva).approve(by=gd.Actor("eve"))

    assert told == []


def test_the_steps_states_are_told_with_the_requests(geneva: gd.Drive) -> None:
    steps: list[tuple[str | None, str, str | None]] = []

    def note(event: gd.TelemetryEvent) -> None:
        if isinstance(event, gd.StepChanged):
            steps.append((event.from_state, event.to_state, event.outcome))

    unsubscribe = geneva.events.subscribe(note)
    reach(geneva, Refund)
    asked(geneva).approve(by="ann")
    drain(geneva)
    unsubscribe()

    assert steps == [
        (None, "scheduled", None),
        ("scheduled", "in_progress", None),
        ("in_progress", "waiting", None),
        ("waiting", "scheduled", None),
        ("scheduled", "in_progress", None),
        ("in_progress", "completed", "approved"),
    ]


def test_a_decision_is_logged(geneva: gd.Drive, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="geneva_drive")
    workflow = reach(geneva, Refund)

    request = asked(geneva).delegate(to="eve", by="ann")
    request.approve(by="eve")

    lines = [
        record.getMessage() for record in caplog.records if " approval " in record.getMessage()
    ]
    [execution] = workflow.step_executions
    about = f"[{Refund.type_name} workflow={workflow.id} step=manager execution={execution.id}]"
    assert lines == [
        f"{about} approval {request.id} new -> pending (requested)",
        f"{about} approval {request.id} pending -> pending (delegated by ann to eve)",
        f"{about} approval {request.id} pending -> approved (decided by eve)",
    ]
