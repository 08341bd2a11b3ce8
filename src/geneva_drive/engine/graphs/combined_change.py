"""Combine a summary of ended nodes and their successors into one change. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from geneva_drive.engine.graphs.summary import Closing, Successors, Summary
from geneva_drive.engine.transitions.change import (
    Change,
    ExecutionMove,
    NewExecution,
    WorkflowMove,
    unchanged,
)
from geneva_drive.engine.transitions.holds import (
    IDLE_STATES,
    cancel_moves,
    cancel_planned,
    hold_executions,
    hold_moves,
    hold_planned,
    skip_executions,
    stop_executions,
)
from geneva_drive.states import ENDED_WORKFLOW_STATES, Outcome, Request, StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord

# Outcomes of the node itself; the nodes beside it are then canceled by its flow control.
_OWN_OUTCOMES = (Outcome.SUCCESS, Outcome.REJECTED, Outcome.EXPIRED, Outcome.TIMED_OUT)


def change_after(
    found: Summary, following: Successors, beside: Sequence[ExecutionRecord]
) -> Change:
    """Return the change; `beside` are the other active executions, if they matter."""
    workflow = found.workflow
    if workflow.state in ENDED_WORKFLOW_STATES:
        return _change(found, unchanged(workflow))
    if found.closing is not None:
        return _close(found, found.closing, beside)
    if following.is_over:
        return _finish(found, following, beside)
    if found.is_plain:
        return _change(
            found,
            _moved(found, WorkflowState.READY),
            schedule=(*found.planned, *following.schedule),
        )
    return _stop(found, following, beside)


def _finish(found: Summary, following: Successors, beside: Sequence[ExecutionRecord]) -> Change:
    """Finish the workflow; skip executions still scheduled, which belong to removed nodes."""
    idle = [one for one in beside if one.state in IDLE_STATES]
    removed = skip_executions(idle, Outcome.SKIPPED_BY_REMOVAL)
    moves = (*found.moves.values(), *removed)
    finished = _moved(found, WorkflowState.FINISHED)
    return _change(found, finished, moves=moves, schedule=following.schedule)


def _close(found: Summary, closing: Closing, beside: Sequence[ExecutionRecord]) -> Change:
    """Finish or cancel the workflow: cancel idle executions, and let running ones end."""
    is_finish = closing.state is WorkflowState.FINISHED
    by = Outcome.CANCELED_BY_FLOW_CONTROL if closing.outcome in _OWN_OUTCOMES else closing.outcome
    own = cancel_moves(found.moves.values(), by)
    previous = closing.step_name if is_finish else found.workflow.previous_step_name
    moved = WorkflowMove(state=closing.state, next_step_name=None, previous_step_name=previous)
    change = _change(found, moved, moves=(*own, *stop_executions(beside, by)))
    return replace(change, drops_pending=by or Outcome.CANCELED_BY_FLOW_CONTROL)


def _stop(found: Summary, following: Successors, beside: Sequence[ExecutionRecord]) -> Change:
    """Pause or cancel the workflow once its running nodes have ended; start no others."""
    workflow = found.workflow
    request = workflow.requested or Request.PAUSE
    reason = workflow.requested_reason if workflow.requested else None
    step_name = workflow.paused_step_name
    if found.hold is not None and reason is None:
        reason, step_name = found.hold.reason, step_name or found.hold.step_name
    runs = any(record.state is StepState.IN_PROGRESS for record in beside)
    schedule = (*found.planned, *following.schedule)
    if request is Request.CANCEL and not runs:
        return _cancel(found, schedule, beside)
    others = [one for one in beside if one.stop is not request]
    moves = (*hold_moves(found.moves.values(), request), *hold_executions(others, request))
    moved = _moved(found, WorkflowState.READY if runs else WorkflowState.PAUSED)
    if workflow.state is WorkflowState.PAUSED:
        moved = unchanged(workflow, previous_step_name=moved.previous_step_name)
    elif runs:
        moved = replace(
            moved, requested=request, requested_reason=reason, paused_step_name=step_name
        )
    else:
        named = step_name or _first_name(schedule, beside)
        moved = replace(moved, paused_reason=reason, paused_step_name=named)
    return _change(
        found,
        moved,
        moves=moves,
        schedule=hold_planned(schedule, request),
    )


def _cancel(
    found: Summary, schedule: Sequence[NewExecution], beside: Sequence[ExecutionRecord]
) -> Change:
    by = Outcome.CANCELED_BY_OPERATOR
    change = _change(
        found,
        _moved(found, WorkflowState.CANCELED),
        moves=(*cancel_moves(found.moves.values(), by), *stop_executions(beside, by)),
        schedule=cancel_planned(schedule),
    )
    return replace(change, drops_pending=by)


def _first_name(schedule: Sequence[NewExecution], beside: Sequence[ExecutionRecord]) -> str | None:
    named = (*(record.step_name for record in beside), *(new.step_name for new in schedule))
    return next(iter(named), None)


def _moved(found: Summary, state: WorkflowState) -> WorkflowMove:
    """Return the workflow's move; in a graph no single node is next."""
    previous = found.last_step_name or found.workflow.previous_step_name
    return WorkflowMove(state=state, next_step_name=None, previous_step_name=previous)


def _change(
    found: Summary,
    moved: WorkflowMove,
    *,
    moves: Sequence[ExecutionMove] | None = None,
    schedule: Sequence[NewExecution] = (),
) -> Change:
    return Change(
        record=found.workflow,
        workflow=moved,
        executions=tuple(found.moves.values() if moves is None else moves),
        schedule=tuple(schedule),
        dead_letter=found.dead_letter,
        expansions=tuple(found.expansions),
    )
