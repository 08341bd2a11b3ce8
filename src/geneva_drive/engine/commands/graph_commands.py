"""The commands on graphs, in which several nodes may be active."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow, check_rewindable
from geneva_drive.engine.commands.passed_step import PassedStep
from geneva_drive.engine.graphs.nodes import GraphNodes
from geneva_drive.engine.graphs.summary import Successors
from geneva_drive.engine.transitions.change import Change, ExecutionMove, NewExecution, unchanged
from geneva_drive.engine.transitions.holds import (
    cancel_executions,
    hold_planned,
    release_executions,
    skip_executions,
)
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.partitions import latest_attempts
from geneva_drive.engine.transitions.planned_executions import plan_next_attempt
from geneva_drive.errors import InvalidStateError
from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    UNDONE_STEP_STATES,
    Outcome,
    Request,
    StepState,
    WorkflowState,
)
from geneva_drive.storage.schema.records import ExecutionRecord, is_worker_share


def resume(subject: CommandedWorkflow, nodes: GraphNodes, context: str | None) -> Change:
    """Release held executions, and run every failed or paused node again."""
    stopped = [one for one in _undone(subject, nodes) if nodes.blocks_workflow(one)]
    planned = _as_pending(nodes.plan_attempts(stopped))
    following = nodes.after({}) if planned or subject.active else nodes.stranded()
    return _continue(
        subject,
        following,
        planned=planned,
        moves=release_executions(subject.active, subject.now),
        context=context,
    )


def reattempt(
    subject: CommandedWorkflow, nodes: GraphNodes, step: object, *, rewind: bool, verb: str
) -> Change:
    """Run a failed or canceled node again, unless a node that depends on it is done."""
    _refuse_over(subject, verb)
    node_id = nodes.find(step)
    undone, own = _undone_of(subject, nodes, node_id)
    if not own:
        raise _not_undone(nodes, node_id, verb)
    nodes.check_open(node_id, verb)
    later = nodes.done_downstream(node_id)
    if later is not None:
        raise InvalidStateError(
            f"Cannot {verb} node {nodes.name_of(node_id)!r}: node {later!r} depends on it and "
            f"is done already. Start another workflow to run that part again."
        )
    planned = nodes.plan_attempts(own, rewind=rewind)
    if _is_pause_requested(subject):
        return _stay_held(subject, Successors(), (), _as_pending(planned))
    if len(own) == len(undone):
        return _continue(
            subject,
            Successors(),
            planned=_as_pending(planned),
            moves=release_executions(subject.active, subject.now),
        )
    # Other nodes have failed too: pause the workflow again once this one has ended.
    workflow = subject.workflow
    held = unchanged(
        subject.workflow,
        state=WorkflowState.READY,
        requested=Request.PAUSE,
        requested_reason=workflow.paused_reason or workflow.requested_reason,
        paused_reason=None,
        paused_step_name=next(one for one in undone if one not in own).step_name,
    )
    return Change(record=workflow, workflow=held, schedule=tuple(_as_pending(planned)))


def _as_pending(planned: Iterable[NewExecution]) -> list[NewExecution]:
    """Make workers of a batch or map pending; `after_command` starts those that may run."""
    return [
        replace(new, state=StepState.PENDING) if is_worker_share(new.share) else new
        for new in planned
    ]


def pass_over(
    subject: CommandedWorkflow, nodes: GraphNodes, step: object | None, passage: PassedStep
) -> Change:
    """Pass over a scheduled or failed node, and schedule the nodes that depend on it."""
    _refuse_over(subject, passage.verb)
    undone = _undone(subject, nodes)
    waiting = [one for one in subject.active if one.state is not StepState.IN_PROGRESS]
    node_id = _chosen(nodes, [*waiting, *undone], step)
    passed = [one for one in waiting if nodes.id_of(one) == node_id]
    undone, failed = _undone_of(subject, nodes, node_id)
    _check_passable(subject, nodes, node_id, passage, passed=passed, failed=failed)
    skipped = skip_executions(passed, Outcome.SKIPPED_BY_OPERATOR)
    recorded = _recorded(subject, nodes, failed, passage)
    first = (*passed, *failed)[0]
    following = nodes.after({node_id: first.ancestry_hash})
    has_others = len(failed) < len(undone)
    is_held = subject.workflow.state is WorkflowState.PAUSED or _is_held_by_failure(subject)
    stays_held = _is_pause_requested(subject) or (has_others and is_held)
    if stays_held and not following.is_over:
        return _stay_held(subject, following, skipped, recorded)
    kept = [
        move
        for move in release_executions(subject.active, subject.now)
        if move.record not in passed
    ]
    change = _continue(subject, following, planned=recorded, moves=(*skipped, *kept))
    return replace(change, workflow=replace(change.workflow, previous_step_name=first.step_name))


def _check_passable(
    subject: CommandedWorkflow,
    nodes: GraphNodes,
    node_id: str,
    passage: PassedStep,
    *,
    passed: Sequence[ExecutionRecord],
    failed: Sequence[ExecutionRecord],
) -> None:
    if any(nodes.id_of(one) == node_id for one in _running(subject)):
        raise InvalidStateError(
            f"Cannot {passage.verb} node {nodes.name_of(node_id)!r}: it is running. Pause the "
            f"workflow, and try again once the node has stopped."
        )
    passage.check(nodes.definition_of(node_id))
    nodes.check_open(node_id, passage.verb)
    if passage.is_manual and not failed:
        raise _not_undone(nodes, node_id, passage.verb, " To pass over it, use skip.")
    if not passed and not failed:
        is_pending = nodes.state_of(node_id) is StepState.PENDING
        way_out = " It waits for its turn, and can be skipped then." if is_pending else ""
        raise InvalidStateError(
            f"Cannot {passage.verb} node {nodes.name_of(node_id)!r}: "
            f"it {_state_text(nodes, node_id)}.{way_out}"
        )


def _recorded(
    subject: CommandedWorkflow,
    nodes: GraphNodes,
    failed: Sequence[ExecutionRecord],
    passage: PassedStep,
) -> list[NewExecution]:
    """Plan the attempts that record that a failed node was passed over."""
    planned = [
        replace(plan_next_attempt(one, subject.now), step_name=nodes.step_name_of(one))
        for one in failed
    ]
    if passage.is_manual and failed and failed[0].is_partition:
        # One attempt at the whole step, even though it was divided: it has one result.
        whole = failed[0].step_name
        planned = [replace(planned[0], share=None, position=None, node_id=whole, slot=whole)]
    return [passage.record(one) for one in planned]


def _not_undone(nodes: GraphNodes, node_id: str, verb: str, way_out: str = "") -> InvalidStateError:
    is_reached = nodes.state_of(node_id) is not None
    return InvalidStateError(
        f"Cannot {verb} node {nodes.name_of(node_id)!r}: it {_state_text(nodes, node_id)}"
        f"{', neither failed nor canceled' if is_reached else ''}.{way_out if is_reached else ''}"
    )


def _refuse_over(subject: CommandedWorkflow, verb: str) -> None:
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refusal(f"{verb} a node of")
    if subject.workflow.requested is Request.CANCEL:
        raise InvalidStateError(
            f"Cannot {verb} a node of this workflow: it will be canceled as soon as the running "
            f"nodes have ended."
        )


def _is_held_by_failure(subject: CommandedWorkflow) -> bool:
    """True if a failed node will pause the workflow once the running ones have ended."""
    is_asked = subject.workflow.requested is Request.PAUSE
    return is_asked and subject.workflow.paused_step_name is not None


def _is_pause_requested(subject: CommandedWorkflow) -> bool:
    """True if an operator's pause waits for running nodes to end."""
    is_asked = subject.workflow.requested is Request.PAUSE
    return is_asked and not _is_held_by_failure(subject)


def rewind(
    subject: CommandedWorkflow, nodes: GraphNodes, step: object, position: LoopPosition | None
) -> Change:
    """Move a resumable step to `position` or its start; a paused workflow stays paused."""
    _refuse_over(subject, "rewind")
    node_id = nodes.find(step)
    name = nodes.name_of(node_id)
    check_rewindable(nodes.definition_of(node_id), position, name)
    own = [one for one in subject.active if nodes.id_of(one) == node_id]
    if any(one.state is StepState.IN_PROGRESS for one in own):
        raise subject.refusal_while_running("rewind")
    tried = own or [one for one in _undone(subject, nodes) if nodes.id_of(one) == node_id]
    if not tried:
        raise InvalidStateError(f"Cannot rewind step {name!r}: it {_state_text(nodes, node_id)}.")
    workflow = subject.workflow
    is_held = workflow.state is WorkflowState.PAUSED or workflow.requested is not None
    [fresh] = nodes.plan_attempts(tried[:1], rewind=True)
    planned = replace(fresh, position=position, stop=Request.PAUSE if is_held else None)
    return Change(
        record=subject.workflow,
        workflow=unchanged(subject.workflow),
        executions=cancel_executions(own),
        schedule=(planned,),
    )


def _chosen(nodes: GraphNodes, candidates: Iterable[ExecutionRecord], step: object | None) -> str:
    if step is not None:
        return nodes.find(step)
    ids = list(dict.fromkeys(nodes.id_of(one) for one in candidates))
    if len(ids) != 1:
        names = ", ".join(repr(nodes.name_of(node_id)) for node_id in ids[:10]) or "none"
        raise InvalidStateError(
            f"Cannot skip a node without its name. Nodes that can be skipped: {names}."
        )
    return ids[0]


def _undone(subject: CommandedWorkflow, nodes: GraphNodes) -> list[ExecutionRecord]:
    """Return the unsuccessful latest attempts; a divided step may have several."""
    by_node: dict[str, list[ExecutionRecord]] = {}
    for one in subject.attempts:
        by_node.setdefault(nodes.id_of(one), []).append(one)
    kept = nodes.present(by_node)
    return [
        one
        for node_id, records in by_node.items()
        if node_id in kept
        for one in latest_attempts(records)
        if one.state in UNDONE_STEP_STATES
    ]


def _undone_of(
    subject: CommandedWorkflow, nodes: GraphNodes, node_id: str
) -> tuple[list[ExecutionRecord], list[ExecutionRecord]]:
    """Return all attempts that block the workflow or belong to one node, and that node's alone."""
    undone = _undone(subject, nodes)
    own = [one for one in undone if nodes.id_of(one) == node_id]
    return [one for one in undone if one in own or nodes.blocks_workflow(one)], own


def _running(subject: CommandedWorkflow) -> list[ExecutionRecord]:
    return [one for one in subject.active if one.state is StepState.IN_PROGRESS]


def _state_text(nodes: GraphNodes, node_id: str) -> str:
    state = nodes.state_of(node_id)
    return "has not been reached" if state is None else f"is {state}"


def _continue(
    subject: CommandedWorkflow,
    following: Successors,
    *,
    planned: Iterable[NewExecution],
    moves: tuple[ExecutionMove, ...],
    context: str | None = None,
) -> Change:
    """Make the workflow ready, or finish it if every node is done."""
    state = WorkflowState.READY
    if following.is_over:
        # Executions that are still active belong to nodes that the graph no longer has.
        state = WorkflowState.FINISHED
        planned = [new for new in planned if new.state is not StepState.SCHEDULED]
        moves = tuple(_removed(move) for move in moves)
    return Change(
        record=subject.workflow,
        workflow=unchanged(
            subject.workflow,
            state=state,
            requested=None,
            requested_reason=None,
            paused_reason=None,
            paused_step_name=None,
        ),
        executions=moves,
        schedule=(*planned, *following.schedule),
        context=context,
    )


def _removed(move: ExecutionMove) -> ExecutionMove:
    if move.state is StepState.SKIPPED or move.state is StepState.IN_PROGRESS:
        return move
    [skipped] = skip_executions([move.record], Outcome.SKIPPED_BY_REMOVAL)
    return skipped


def _stay_held(
    subject: CommandedWorkflow,
    following: Successors,
    moves: Iterable[ExecutionMove],
    recorded: Iterable[NewExecution],
) -> Change:
    return Change(
        record=subject.workflow,
        workflow=unchanged(subject.workflow),
        executions=tuple(moves),
        schedule=hold_planned((*recorded, *following.schedule), Request.PAUSE),
    )
