"""Cancel a workflow."""

from __future__ import annotations

from geneva_drive.engine.commands.subject import Subject, request_stop
from geneva_drive.engine.transitions.change import Change, WorkflowMove
from geneva_drive.engine.transitions.holds import cancel_executions
from geneva_drive.states import ENDED_WORKFLOW_STATES, Request, WorkflowState


def cancel(subject: Subject, reason: str | None, *, force: bool) -> Change:
    """End the workflow; while a step runs, ask for that, or with `force` fence the step off."""
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refuse("cancel")
    if subject.running and not force:
        return request_stop(subject, Request.CANCEL, reason)
    return Change(
        record=subject.workflow,
        workflow=WorkflowMove(
            state=WorkflowState.CANCELED,
            next_step_name=None,
            previous_step_name=subject.workflow.previous_step_name,
        ),
        executions=cancel_executions(subject.active),
    )
