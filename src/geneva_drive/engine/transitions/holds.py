"""Hold, release or cancel the executions of a workflow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from geneva_drive.engine.transitions.change import Change, ExecutionMove, WorkflowMove
from geneva_drive.states import Outcome, Request, StepState
from geneva_drive.storage.schema.records import ExecutionRecord

_GOES_ON = (StepState.SCHEDULED, StepState.SUSPENDED, StepState.WAITING)


def holding(change: Change, workflow: WorkflowMove) -> Change:
    """Keep what would go on by a change out of every worker's reach."""
    return replace(
        change,
        workflow=workflow,
        executions=tuple(
            replace(move, claimable=False, wakes_at=None, limit_key=None, stop=Request.PAUSE)
            if move.state in _GOES_ON
            else move
            for move in change.executions
        ),
        schedule=tuple(replace(new, stop=Request.PAUSE) for new in change.schedule),
    )


def ending_by_operator(moves: Iterable[ExecutionMove]) -> tuple[ExecutionMove, ...]:
    """Cancel what would go on."""
    return tuple(
        replace(
            move,
            state=StepState.CANCELED,
            outcome=Outcome.CANCELED_BY_OPERATOR,
            claimable=False,
            wakes_at=None,
            limit_key=None,
        )
        if move.state in _GOES_ON
        else move
        for move in moves
    )


def hold(record: ExecutionRecord) -> ExecutionMove:
    """Keep a scheduled execution where it is, out of every worker's reach."""
    return ExecutionMove(record=record, state=record.state, stop=Request.PAUSE)


def release(record: ExecutionRecord, now: datetime) -> ExecutionMove:
    """Let a held execution run at its time, or now if that has passed."""
    if record.state is StepState.WAITING:
        return ExecutionMove(record=record, state=record.state)
    is_due = record.scheduled_for <= now
    return ExecutionMove(
        record=record,
        state=record.state,
        claimable=is_due,
        wakes_at=None if is_due else record.scheduled_for,
        resets_counts=True,
    )


def ended(moves: Iterable[ExecutionMove], by: Outcome | None) -> tuple[ExecutionMove, ...]:
    return tuple(
        replace(end, outcome=by) if end is not move else move
        for move, end in ((move, ending_by_operator([move])[0]) for move in moves)
    )
