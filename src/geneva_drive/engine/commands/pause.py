"""The command `pause`."""

from __future__ import annotations

from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow, request_stop
from geneva_drive.engine.transitions.change import Change, unchanged
from geneva_drive.engine.transitions.holds import hold_executions
from geneva_drive.states import Request, WorkflowState


def pause(subject: CommandedWorkflow, reason: str | None) -> Change:
    """Pause the workflow now, or once its running steps have ended.

    While a step runs, the pause is stored as a request, and `transitions/decide.py` carries it
    out when the step ends. A loop sees the request at its next checkpoint.
    """
    if subject.workflow.state is not WorkflowState.READY:
        raise subject.refusal("pause")
    if subject.running:
        if subject.workflow.requested is not None:
            return Change(record=subject.workflow, workflow=unchanged(subject.workflow))
        return request_stop(subject, Request.PAUSE, reason)
    return Change(
        record=subject.workflow,
        workflow=unchanged(
            subject.workflow,
            state=WorkflowState.PAUSED,
            # A reattempt beside another failed node requests a pause for the end of its node.
            requested=None,
            requested_reason=None,
            paused_reason=reason,
            paused_step_name=subject.next_step_name,
        ),
        executions=hold_executions(subject.active, Request.PAUSE),
    )
