"""The commands `resume`, at the present step, and `resume_at`, at another one."""

from __future__ import annotations

from typing import assert_never

from geneva_drive.engine.commands import graph_commands
from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow
from geneva_drive.engine.contexts import MergedContext
from geneva_drive.engine.transitions.change import Change, WorkflowMove, unchanged
from geneva_drive.engine.transitions.holds import cancel_executions, release_executions
from geneva_drive.engine.transitions.wait_kinds import (
    ApprovalWait,
    ChildWait,
    EventWait,
    MomentWait,
    wait_of,
)
from geneva_drive.errors import InvalidStateError, StepVanished, UnknownWorkflowClass
from geneva_drive.states import ENDED_WORKFLOW_STATES, Request, WorkflowState
from geneva_drive.storage.schema.records import WorkflowRecord


class ContextChanged(Exception):
    """The context has changed since the caller merged new values into it; merge them again."""

    def __init__(self, present: str | None) -> None:
        super().__init__()
        self.present = present


def resume(subject: CommandedWorkflow, merged: MergedContext | None = None) -> Change:
    """Continue a paused workflow; a failed step runs again."""
    workflow = subject.workflow
    # A requested pause has not taken effect yet, and is only withdrawn.
    is_requested = subject.running is not None and workflow.requested is Request.PAUSE
    if not is_requested and workflow.state is not WorkflowState.PAUSED:
        raise _external_wait_refusal(subject) or subject.refusal("resume")
    if merged is not None and merged.before != workflow.context:
        raise ContextChanged(workflow.context)
    context = merged.after if merged else None
    if subject.nodes is not None:
        return graph_commands.resume(subject, subject.nodes, context)
    if is_requested:
        return Change(
            record=workflow,
            workflow=unchanged(workflow, requested=None, requested_reason=None),
            executions=release_executions(subject.active, subject.now),
            context=context,
        )
    if subject.is_unknown_graph:
        raise UnknownWorkflowClass(workflow.type)
    released = release_executions(subject.active, subject.now)
    if released and all(record.share is None for record in subject.active):
        return Change(
            record=workflow, workflow=_ready(workflow), executions=released, context=context
        )
    definition = subject.require_definition()
    node = definition.get(workflow.next_step_name or "")
    if node is None:
        raise StepVanished(definition.type, workflow.next_step_name or "", definition.step_names)
    return Change(
        record=workflow,
        workflow=_ready(workflow, next_step_name=node.name),
        executions=released,
        schedule=subject.plan_attempts(definition, node),
        context=context,
    )


def _ready(workflow: WorkflowRecord, **values: str) -> WorkflowMove:
    return unchanged(
        workflow, state=WorkflowState.READY, paused_reason=None, paused_step_name=None, **values
    )


def _external_wait_refusal(subject: CommandedWorkflow) -> InvalidStateError | None:
    """Return the error for a workflow that waits for people or events; None for any other."""
    if not subject.waits_externally:
        return None
    first = subject.active[0]
    wait = wait_of(first)
    match wait:
        case ApprovalWait(approval_id):
            return InvalidStateError(
                f"Cannot resume this workflow: step {first.step_name!r} waits for a decision. "
                f"Decide approval {approval_id}, as with `geneva approve {approval_id} --by NAME`, "
                f"or pass over the step with skip."
            )
        case EventWait():
            return InvalidStateError(
                f"Cannot resume this workflow: step {first.step_name!r} waits for an event or a "
                f"callback. Publish the event, as with `geneva publish TYPE`, or pass over the "
                f"step with skip."
            )
        case ChildWait() | MomentWait() | None:
            return None
        case _:
            assert_never(wait)


def resume_at(subject: CommandedWorkflow, step: object) -> Change:
    """Continue a chain at any step, before or after the present one."""
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refusal("resume")
    if subject.nodes is not None:
        raise InvalidStateError(
            "Cannot resume a graph at one node: several may be next. To run a failed node again, "
            "use reattempt; to pass over a node, use skip."
        )
    if subject.running:
        raise subject.refusal(
            "resume", " Pause it, and choose the step when the running one has ended."
        )
    definition = subject.require_definition()
    node = definition.require(step)
    return Change(
        record=subject.workflow,
        workflow=unchanged(
            subject.workflow,
            state=WorkflowState.READY,
            next_step_name=node.name,
            paused_reason=None,
            paused_step_name=None,
        ),
        executions=cancel_executions(subject.active),
        schedule=subject.plan_attempts(definition, node, for_active=True),
    )
