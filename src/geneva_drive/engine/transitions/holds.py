"""Hold, release, skip or cancel the executions of a workflow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from geneva_drive.engine.transitions.change import Change, ExecutionMove, NewExecution, WorkflowMove
from geneva_drive.states import ACTIVE_STEP_STATES, Outcome, Request, StepState
from geneva_drive.storage.schema.records import ExecutionRecord

# Active, but no worker runs it: it can be held or canceled at once.
IDLE_STATES = ACTIVE_STEP_STATES - {StepState.IN_PROGRESS}


def hold_executions(
    records: Iterable[ExecutionRecord], request: Request
) -> tuple[ExecutionMove, ...]:
    """Keep idle executions from being claimed; ask running ones to stop at their checkpoint."""
    return tuple(
        ExecutionMove(
            record=record,
            state=record.state,
            stop=request,
            limit_key=None if record.state in IDLE_STATES else record.limit_key,
        )
        for record in records
        if record.state in ACTIVE_STEP_STATES
    )


def release_executions(
    records: Iterable[ExecutionRecord], now: datetime
) -> tuple[ExecutionMove, ...]:
    """Undo `hold_executions`: idle ones may be claimed once they are due, running ones continue."""
    return tuple(_release(record, now) for record in records)


def _release(record: ExecutionRecord, now: datetime) -> ExecutionMove:
    if record.state is StepState.IN_PROGRESS:
        return ExecutionMove(record=record, state=record.state, limit_key=record.limit_key)
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


def released_wait(record: ExecutionRecord) -> ExecutionMove:
    """Return the move that lets a worker claim a waiting execution."""
    # If the workflow is held (`stop` is set), only `resume` makes the execution claimable.
    return ExecutionMove(
        record=record,
        state=StepState.SCHEDULED,
        claimable=record.stop is None,
        stop=record.stop,
    )


def cancel_executions(
    records: Iterable[ExecutionRecord], outcome: Outcome | None = Outcome.CANCELED_BY_OPERATOR
) -> tuple[ExecutionMove, ...]:
    """Cancel executions; a worker that runs one of them loses its claim."""
    return tuple(
        ExecutionMove(record=record, state=StepState.CANCELED, outcome=outcome)
        for record in records
    )


def skip_executions(
    records: Iterable[ExecutionRecord], outcome: Outcome
) -> tuple[ExecutionMove, ...]:
    return tuple(
        ExecutionMove(record=record, state=StepState.SKIPPED, outcome=outcome) for record in records
    )


def stop_executions(
    records: Iterable[ExecutionRecord], outcome: Outcome | None
) -> tuple[ExecutionMove, ...]:
    """Cancel idle executions, and ask running ones to stop."""
    found = list(records)
    idle = [record for record in found if record.state in IDLE_STATES]
    running = [record for record in found if record.state is StepState.IN_PROGRESS]
    return cancel_executions(idle, outcome) + hold_executions(running, Request.CANCEL)


def hold_change(change: Change, workflow: WorkflowMove) -> Change:
    """Return the change with `workflow` as its row, and with nothing that a worker can claim."""
    return replace(
        change,
        workflow=workflow,
        executions=hold_moves(change.executions, Request.PAUSE),
        schedule=hold_planned(change.schedule, Request.PAUSE),
    )


def hold_moves(moves: Iterable[ExecutionMove], request: Request) -> tuple[ExecutionMove, ...]:
    return tuple(
        replace(move, claimable=False, wakes_at=None, limit_key=None, stop=request)
        if move.state in IDLE_STATES
        else move
        for move in moves
    )


def hold_planned(schedule: Iterable[NewExecution], request: Request) -> tuple[NewExecution, ...]:
    return tuple(
        replace(new, stop=request) if new.state is StepState.SCHEDULED else new for new in schedule
    )


def cancel_moves(
    moves: Iterable[ExecutionMove], outcome: Outcome | None
) -> tuple[ExecutionMove, ...]:
    return tuple(
        replace(
            move,
            state=StepState.CANCELED,
            outcome=outcome,
            claimable=False,
            wakes_at=None,
            limit_key=None,
        )
        if move.state in IDLE_STATES
        else move
        for move in moves
    )


def cancel_planned(schedule: Iterable[NewExecution]) -> tuple[NewExecution, ...]:
    return tuple(
        replace(new, state=StepState.CANCELED, outcome=Outcome.CANCELED_BY_OPERATOR)
        if new.state in (StepState.SCHEDULED, StepState.PENDING)
        else new
        for new in schedule
    )
