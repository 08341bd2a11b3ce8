"""The command `cancel`."""

from __future__ import annotations

from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow, request_stop
from geneva_drive.engine.transitions.change import Change, WorkflowMove
from geneva_drive.engine.transitions.holds import cancel_executions
from geneva_drive.states import ENDED_WORKFLOW_STATES, Outcome, Request, WorkflowState


def cancel(subject: CommandedWorkflow, reason: str | None, *, force: bool) -> Change:
    """Cancel the workflow now, or once its running steps have ended.

    While a step runs, the cancel is stored as a request, as for `pause`. With `force` the workflow
    ends at once: the running step loses its claim, and its outcome is dropped.
    """
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refusal("cancel")
    if subject.running and not force:
        return request_stop(subject, Request.CANCEL, reason)
    by = Outcome.CANCELED_BY_OPERATOR
    return Change(
        record=subject.workflow,
        workflow=WorkflowMove(
            state=WorkflowState.CANCELED,
            next_step_name=None,
            previous_step_name=subject.workflow.previous_step_name,
        ),
        executions=cancel_executions(subject.active),
        # Only graphs have pending batch workers, and no `next_step_name`.
        drops_pending=by if subject.workflow.next_step_name is None else None,
    )
