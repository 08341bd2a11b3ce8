"""Make the telemetry events of committed changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from geneva_drive.clock import Clock
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.transitions.change import ExecutionMove, ExpansionChange
from geneva_drive.iteration.loop_state import LoopState
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.serialization import typed_json
from geneva_drive.states import (
    ApprovalState,
    EventWaitState,
    Outcome,
    StepState,
    WorkflowState,
    is_done,
)
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord
from geneva_drive.storage.schema.waits.event_records import EventRecord, EventWaitRecord
from geneva_drive.storage.statements.waits.events import CALLBACK_TYPE
from geneva_drive.telemetry import (
    ApprovalAction,
    ApprovalChanged,
    BatchChanged,
    EventPublished,
    EventWaitChanged,
    StepChanged,
    StepProgressed,
    StepYielded,
    TelemetryEvent,
    WorkflowChanged,
)


def events_of(applied: Iterable[Applied], now: datetime) -> Iterator[TelemetryEvent]:
    """Yield an event for each changed state: first of a workflow's executions, then its own."""
    for one in applied:
        for move in one.change.executions:
            if move.state is not move.record.state:
                yield _execution_moved(one.workflow, move, now)
        for execution in one.passed_over:
            yield scheduled(one.workflow, execution, now)
        for execution in one.scheduled:
            yield scheduled(one.workflow, execution, now)
        for expansion in one.change.expansions:
            yield _batch_changed(one.workflow, expansion, now)
        if one.workflow.state is not one.change.record.state:
            yield _workflow_moved(one, now)


def created(
    workflow: WorkflowRecord, firsts: Iterable[ExecutionRecord]
) -> Iterator[TelemetryEvent]:
    yield WorkflowChanged(
        **_about(workflow, workflow.created_at), from_state=None, to_state=workflow.state
    )
    for first in firsts:
        yield scheduled(workflow, first, workflow.created_at)


def approval_changed(
    workflow: WorkflowRecord,
    approval: ApprovalRecord,
    action: ApprovalAction,
    now: datetime,
    *,
    by: str | None = None,
    to: str | None = None,
) -> TelemetryEvent:
    """Return the event of a request for approval after its change."""
    is_new = action is ApprovalAction.REQUESTED
    return ApprovalChanged(
        **_about(workflow, now),
        execution_id=approval.execution_id,
        step_name=approval.step_name,
        approval_id=approval.id,
        action=action,
        from_state=None if is_new else ApprovalState.PENDING,
        to_state=approval.state,
        by=by,
        to=to,
    )


def event_wait_changed(
    workflow: WorkflowRecord,
    wait: EventWaitRecord,
    to_state: EventWaitState,
    now: datetime,
    *,
    event_number: Key | None = None,
) -> TelemetryEvent:
    """Return the event of a wait that was opened, heard its event, or timed out."""
    is_callback = wait.patterns == (CALLBACK_TYPE,)
    return EventWaitChanged(
        **_about(workflow, now),
        execution_id=wait.execution_id,
        step_name=wait.step_name,
        wait_id=wait.id,
        event_types=() if is_callback else wait.patterns,
        key=None if is_callback else wait.awaited_key or None,
        from_state=None if to_state is EventWaitState.OPEN else EventWaitState.OPEN,
        to_state=to_state,
        event_number=event_number,
    )


def event_published(event: EventRecord, continued: Iterable[Key], now: datetime) -> TelemetryEvent:
    return EventPublished(
        number=event.id,
        id=event.event_id,
        source=event.source,
        type=event.type,
        key=event.event_key or None,
        continued=tuple(continued),
        at=now,
    )


def progressed(
    workflow: WorkflowRecord,
    execution: ExecutionRecord,
    cursor: Any,
    progress: IterationProgress,
    now: datetime,
) -> StepProgressed:
    return StepProgressed(
        **_about(workflow, now),
        execution_id=execution.id,
        step_name=execution.step_name,
        cursor=cursor,
        done=progress.done,
        total=progress.total,
        unit=progress.unit,
        rate=progress.rate,
        remaining=progress.remaining,
    )


def yielded(
    workflow: WorkflowRecord, execution: ExecutionRecord, state: LoopState, clock: Clock
) -> StepYielded:
    return StepYielded(
        **_about(workflow, clock.now()),
        execution_id=execution.id,
        step_name=execution.step_name,
        node_id=execution.node_id,
        cursor=state.cursor,
        items_processed=state.completed,
    )


def ended_loops(
    applied: Iterable[Applied],
) -> Iterator[tuple[WorkflowRecord, ExecutionRecord, IterationProgress]]:
    """Yield the loops that ended since their last progress event."""
    for one in applied:
        for move in one.change.executions:
            position = move.position
            if position is None or position.is_reported or not position.completed_iterations:
                continue
            if is_done(move.state, move.outcome):
                stored = typed_json.load(position.progress)
                done = position.completed_iterations
                progress = IterationProgress.read(done, stored, is_over=True)
                yield one.workflow, move.record, progress


def scheduled(
    workflow: WorkflowRecord, execution: ExecutionRecord, now: datetime
) -> TelemetryEvent:
    return _step_changed(workflow, execution, None, now)


def claimed(workflow: WorkflowRecord, execution: ExecutionRecord, now: datetime) -> TelemetryEvent:
    # A row that started earlier was suspended.
    was_begun = execution.started_at is not None and execution.started_at < now
    former = StepState.SUSPENDED if was_begun and execution.metadata else StepState.SCHEDULED
    return _step_changed(workflow, execution, former, now)


def _step_changed(
    workflow: WorkflowRecord,
    execution: ExecutionRecord,
    from_state: StepState | None,
    now: datetime,
) -> TelemetryEvent:
    return StepChanged(
        **_about(workflow, now),
        execution_id=execution.id,
        step_name=execution.step_name,
        from_state=from_state,
        to_state=execution.state,
        outcome=execution.outcome,
    )


def _execution_moved(
    workflow: WorkflowRecord, move: ExecutionMove, now: datetime
) -> TelemetryEvent:
    return StepChanged(
        **_about(workflow, now),
        execution_id=move.record.id,
        step_name=move.record.step_name,
        from_state=move.record.state,
        to_state=move.state,
        outcome=move.outcome,
        error=move.error.exception if move.error else None,
    )


def _batch_changed(
    workflow: WorkflowRecord, change: ExpansionChange, now: datetime
) -> TelemetryEvent:
    record = change.record
    return BatchChanged(
        **_about(workflow, now),
        execution_id=change.execution_id,
        step_name=record.node_id,
        kind=record.kind,
        from_state=StepState.IN_PROGRESS if change.is_over else None,
        to_state=StepState.COMPLETED if change.is_over else StepState.IN_PROGRESS,
        total=record.total,
        done=record.done,
        failed=record.failed,
        outcome=Outcome.SUCCESS if change.is_over else None,
    )


def _workflow_moved(one: Applied, now: datetime) -> TelemetryEvent:
    last = _cause(one)
    return WorkflowChanged(
        **_about(one.workflow, now),
        from_state=one.change.record.state,
        to_state=one.workflow.state,
        execution_id=last.record.id if last else None,
        step_name=last.record.step_name if last else one.change.workflow.paused_step_name,
        outcome=last.outcome if last else None,
    )


def _about(workflow: WorkflowRecord, at: datetime) -> dict[str, Any]:
    return {
        "workflow_id": workflow.id,
        "type": workflow.type,
        "hero_type": workflow.hero_type,
        "hero_id": workflow.hero_id,
        "at": at,
    }


def _cause(one: Applied) -> ExecutionMove | None:
    """Return the execution that changed its workflow's state."""
    moves = one.change.executions
    by = one.change.workflow.paused_step_name
    if by is None or one.workflow.state is not WorkflowState.PAUSED:
        return moves[-1] if moves else None
    # In a graph, the pause waited for the execution that ended last, which did not cause it.
    return next((move for move in reversed(moves) if move.record.step_name == by), None)
