"""Pause a workflow."""

from __future__ import annotations

from geneva_drive.engine.commands.subject import Subject, request_stop
from geneva_drive.engine.transitions.change import Change, unchanged
from geneva_drive.engine.transitions.holds import hold_executions
from geneva_drive.states import Request, WorkflowState


def pause(subject: Subject, reason: str | None) -> Change:
    """Hold the workflow; while a step runs, ask for it to be held when that ends."""
    if subject.workflow.state is not WorkflowState.READY:
        raise subject.refuse("pause")
    if subject.running:
        if subject.workflow.requested is not None:
            return Change(record=subject.workflow, workflow=unchanged(subject.workflow))
        return request_stop(subject, Request.PAUSE, reason)
    return Change(
        record=subject.workflow,
        workflow=unchanged(
            subject.workflow,
            state=WorkflowState.PAUSED,
            # A reattempt beside another failed node has asked for a pause once its node ends.
            requested=None,
            requested_reason=None,
            paused_reason=reason,
            paused_step_name=subject.next_step_name,
        ),
        executions=hold_executions(subject.active, Request.PAUSE),
    )
