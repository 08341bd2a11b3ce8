"""What operators do to a workflow: each one transaction, under its lock, with an audit entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.engine.commands import graph_commands
from geneva_drive.engine.commands.subject import Subject
from geneva_drive.engine.commit import commit
from geneva_drive.engine.commit.ending import Applied
from geneva_drive.engine.graphs.nodes import nodes_of
from geneva_drive.engine.transitions.change import (
    AuditEntry,
    Change,
    ExecutionMove,
    NewExecution,
    WorkflowMove,
    hold,
)
from geneva_drive.engine.transitions.loop_state import Position
from geneva_drive.engine.transitions.partitions import hold as hold_shares
from geneva_drive.errors import (
    InvalidStateError,
    StepVanished,
    UnknownWorkflowClass,
    WorkflowNotFound,
)
from geneva_drive.serialization import typed_json
from geneva_drive.settings import Settings
from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    Outcome,
    Request,
    StepState,
    WorkflowState,
    is_done,
)
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.store import Store

Decision = Callable[[Subject], Change]

_RESUME_AT = "use `resume_at` in code or `geneva resume ID --at STEP` in the shell"


def execute(
    connection: Connection,
    store: Store,
    workflow_id: Key,
    decision: Decision,
    *,
    audit: AuditEntry,
    now: datetime,
) -> Applied:
    """Carry a command out: lock, decide, write with its audit entry, all in the transaction."""
    workflow = store.workflows.lock(connection, [workflow_id]).get(workflow_id)
    if workflow is None:
        raise WorkflowNotFound(workflow_id)
    active = tuple(store.executions.lock_active(connection, workflow_id))
    # Of a dynamic workflow there may be very many, of which only few matter.
    is_dynamic = workflow.type == DYNAMIC_TYPE
    find = store.attempts.undone if is_dynamic else store.attempts.latest_of
    attempts = tuple(find(connection, workflow_id))
    subject = Subject(
        workflow=workflow,
        active=active,
        now=now,
        attempts=attempts,
        nodes=nodes_of(connection, store, workflow, attempts, now),
    )
    change = decision(subject)
    [applied] = commit.write(connection, store, [replace(change, audit=audit)], now, read_back=True)
    return applied


def pause(subject: Subject, reason: str | None) -> Change:
    """Hold the workflow; while a step runs, ask for it to be held when that ends."""
    if subject.workflow.state is not WorkflowState.READY:
        raise subject.refuse("pause")
    if subject.running:
        if subject.workflow.requested is not None:
            return Change(record=subject.workflow, workflow=subject.stays())
        return _request(subject, Request.PAUSE, reason)
    return Change(
        record=subject.workflow,
        workflow=subject.stays(
            state=WorkflowState.PAUSED,
            paused_reason=reason,
            paused_step_name=subject.next_step_name,
        ),
        executions=tuple(hold(record) for record in subject.active),
    )


def cancel(subject: Subject, reason: str | None, *, force: bool) -> Change:
    """End the workflow; while a step runs, ask for that, or with `force` fence the step off."""
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refuse("cancel")
    if subject.running and not force:
        return _request(subject, Request.CANCEL, reason)
    return Change(
        record=subject.workflow,
        workflow=WorkflowMove(
            state=WorkflowState.CANCELED,
            next_step_name=None,
            previous_step_name=subject.workflow.previous_step_name,
        ),
        executions=_cancel_active(subject),
    )


def resume(subject: Subject, settings: Settings, data: Mapping[str, Any] | None) -> Change:
    """Let a paused workflow go on where it stands; a failed step is run again."""
    workflow = subject.workflow
    if subject.running and workflow.requested is Request.PAUSE:
        # The pause has not taken effect yet, so that nothing but the wish is to be undone.
        if subject.nodes is not None:
            return graph_commands.resume(subject, subject.nodes, _merged(workflow, data, settings))
        return Change(
            record=workflow,
            workflow=subject.stays(requested=None, requested_reason=None),
            executions=subject.let_go(),
            context=_merged(workflow, data, settings),
        )
    if workflow.state is not WorkflowState.PAUSED:
        raise subject.refuse("resume")
    if subject.nodes is not None:
        return graph_commands.resume(subject, subject.nodes, _merged(workflow, data, settings))
    if subject.is_unknown_graph:
        raise UnknownWorkflowClass(workflow.type)
    ready = subject.stays(state=WorkflowState.READY, paused_reason=None, paused_step_name=None)
    context = _merged(workflow, data, settings)
    released = subject.let_go()
    if released and all(record.share is None for record in subject.active):
        return Change(record=workflow, workflow=ready, executions=released, context=context)
    definition = registry.require_definition(workflow.type)
    node = definition.get(workflow.next_step_name or "")
    if node is None:
        raise StepVanished(definition.type, workflow.next_step_name or "", definition.step_names)
    return Change(
        record=workflow,
        workflow=replace(ready, next_step_name=node.name),
        executions=released,
        schedule=subject.again(definition, node),
        context=context,
    )


def resume_at(subject: Subject, step: object) -> Change:
    """Go on at a step of the caller's choice, forwards or backwards."""
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refuse("resume")
    if subject.nodes is not None:
        raise InvalidStateError(
            "Cannot resume a graph at one of its nodes, as several may be next. To run a node "
            "again that failed, use reattempt; to pass one over, use skip."
        )
    if subject.running:
        raise subject.refuse(
            "resume", " Pause it, and choose the step when the running one has ended."
        )
    definition = registry.require_definition(subject.workflow.type)
    node = definition.require(step)
    return Change(
        record=subject.workflow,
        workflow=subject.stays(
            state=WorkflowState.READY,
            next_step_name=node.name,
            paused_reason=None,
            paused_step_name=None,
        ),
        executions=_cancel_active(subject),
        schedule=subject.again(definition, node, for_active=True),
    )


def reattempt(subject: Subject, step: object, *, rewind: bool) -> Change:
    """Run a step again that has not been done, from its cursor or from the start."""
    if subject.nodes is not None:
        return graph_commands.reattempt(subject, subject.nodes, step, rewind=rewind)
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refuse("reattempt a step of")
    definition = registry.require_definition(subject.workflow.type)
    node = definition.require(step)
    _check_reattemptable(subject, definition, node)
    change = resume_at(subject, step)
    if not rewind:
        return change
    fresh = subject.planned(definition, node, subject.now)
    return replace(change, schedule=(fresh,))


def _check_reattemptable(subject: Subject, definition: Definition, node: Node) -> None:
    shares = [one for one in subject.unfinished_shares(node) if one.state is StepState.FAILED]
    latest = shares[0] if shares else subject.latest(node)
    if latest is None or latest.state not in (StepState.FAILED, StepState.CANCELED):
        state = "has not been reached" if latest is None else f"is {latest.state}"
        raise InvalidStateError(
            f"Cannot reattempt step {node.name!r}: it {state}, neither failed nor canceled. "
            f"To go on at a step of your choice, {_RESUME_AT}."
        )
    following = definition.after(node.name)
    while following is not None:
        later = subject.latest(following)
        if later is not None and is_done(later.state, later.outcome):
            raise InvalidStateError(
                f"Cannot reattempt step {node.name!r}: step {following.name!r} after it is "
                f"{later.state} already. To go back nevertheless, {_RESUME_AT}."
            )
        following = definition.after(following.name)


def rewind(subject: Subject, step: object, position: Position | None) -> Change:
    """Let a resumable step start over, or go on from a cursor; a paused workflow stays paused."""
    workflow = subject.workflow
    if workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refuse("rewind a step of")
    if subject.nodes is not None:
        return graph_commands.rewind(subject, subject.nodes, step, position)
    definition = registry.require_definition(workflow.type)
    standing = _standing(subject, definition, step, "rewind")
    if not standing.is_resumable:
        raise InvalidStateError(
            f"Cannot rewind step {standing.name!r}: it is no resumable step, and has no cursor. "
            f"To run it again, use reattempt."
        )
    is_held = workflow.state is WorkflowState.PAUSED
    planned = replace(
        subject.planned(definition, standing, subject.now),
        position=position,
        stop=Request.PAUSE if is_held else None,
    )
    return Change(
        record=workflow,
        workflow=subject.stays(),
        executions=_cancel_active(subject),
        schedule=(planned,),
    )


def skip(subject: Subject, step: object | None) -> Change:
    """Pass over the step that is next, or that failed, and go on with the one after it."""
    workflow = subject.workflow
    if workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refuse("skip a step of")
    if subject.nodes is not None:
        return graph_commands.skip(subject, subject.nodes, step)
    definition = registry.require_definition(workflow.type)
    standing = _standing(subject, definition, step, "skip")
    following = definition.after(standing.name)
    return Change(
        record=workflow,
        workflow=subject.stays(
            state=WorkflowState.READY if following else WorkflowState.FINISHED,
            next_step_name=following.name if following else None,
            previous_step_name=standing.name,
            paused_reason=None,
            paused_step_name=None,
        ),
        executions=tuple(
            ExecutionMove(
                record=record, state=StepState.SKIPPED, outcome=Outcome.SKIPPED_BY_OPERATOR
            )
            for record in subject.active
        ),
        schedule=_skipped(subject, definition, standing)
        + _next(subject, definition, following, standing),
    )


def _request(subject: Subject, request: Request, reason: str | None) -> Change:
    return Change(
        record=subject.workflow,
        workflow=subject.stays(requested=request, requested_reason=reason),
        executions=hold_shares(subject.active, request),
    )


def _cancel_active(subject: Subject) -> tuple[ExecutionMove, ...]:
    return tuple(
        ExecutionMove(record=record, state=StepState.CANCELED, outcome=Outcome.CANCELED_BY_OPERATOR)
        for record in subject.active
    )


def _merged(
    workflow: WorkflowRecord, data: Mapping[str, Any] | None, settings: Settings
) -> str | None:
    if data is None:
        return None
    context = {**(typed_json.load(workflow.context) or {}), **data}
    return typed_json.dump_within(
        context, settings.max_payload_size, what="The context", setting="max_payload_size"
    )


def _standing(subject: Subject, definition: Definition, step: object | None, verb: str) -> Node:
    """Find the step that the workflow stands at, which is the one that may be skipped."""
    wanted = None if step is None else definition.require(step)
    if subject.running:
        raise subject.refuse_running(verb)
    name = subject.workflow.next_step_name or ""
    standing = definition.get(name)
    if standing is None:
        raise StepVanished(definition.type, name, definition.step_names)
    if wanted is not None and wanted is not standing:
        raise InvalidStateError(
            f"Cannot {verb} step {definition.name_of(step)!r}: the workflow stands at {name!r}."
        )
    return standing


def _skipped(subject: Subject, definition: Definition, node: Node) -> tuple[NewExecution, ...]:
    """Record that a failed step was passed over; a scheduled one is itself marked skipped."""
    if subject.active and not subject.unfinished_shares(node):
        return ()
    return tuple(
        replace(planned, state=StepState.SKIPPED, outcome=Outcome.SKIPPED_BY_OPERATOR)
        for planned in subject.again(definition, node)
    )


def _next(
    subject: Subject, definition: Definition, following: Node | None, passed: Node
) -> tuple[NewExecution, ...]:
    if following is None:
        return ()
    at = subject.now + following.options.wait
    return (subject.planned(definition, following, at, passed=passed),)
