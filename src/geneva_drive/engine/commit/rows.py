"""Convert changes into the columns that they write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, assert_never

from geneva_drive.engine.transitions.change import Change, ExecutionMove, NewExecution
from geneva_drive.engine.transitions.loop_position import LoopPosition, SkippedItem
from geneva_drive.engine.transitions.wait_kinds import (
    ApprovalWait,
    ChildWait,
    EventWait,
    MomentWait,
    Wait,
    is_external,
    wait_of,
)
from geneva_drive.serialization import typed_json
from geneva_drive.states import Interruption, Outcome, StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord

# Reasons in rows of `checkpoints`, besides interruptions and outcomes.
SKIPPED_ITEM = "item_error"
YIELD = "yield"  # of a batch worker
CHECKPOINT = "checkpoint"  # of a batch worker's loop
_NO_ITEM: dict[str, Any] = {"item": None}

_ENDS = {StepState.COMPLETED, StepState.FAILED, StepState.SKIPPED, StepState.CANCELED}


def execution_values(move: ExecutionMove, now: datetime) -> dict[str, Any]:
    """Return the columns that a move writes; other columns keep their values."""
    values: dict[str, Any] = {
        "state": move.state,
        "outcome": move.outcome,
        "claimable": move.claimable,
        "wakes_at": move.wakes_at,
        "limit_key": move.limit_key,
        "stop": move.stop,
    }
    if move.state in _ENDS:
        values["finished_at"] = now
    if move.state is not StepState.IN_PROGRESS:
        values["claim_token"] = None
    if move.state is StepState.SCHEDULED:
        values["worker_id"] = None
        if move.record.state is not StepState.WAITING:
            values["started_at"] = None
    if move.error is not None:
        values |= {
            "error_class": move.error.error_class,
            "error_message": move.error.message,
            "error_backtrace": move.error.backtrace,
        }
    if move.resets_counts:
        values |= {"failures": None, "recoveries": 0}
    if move.result is not None:
        values["result"] = move.result
    if move.wait is not None:
        values |= _wait_values(move.wait)
    return values | _metadata_values(move) | _iteration_values(move)


def _metadata_values(move: ExecutionMove) -> dict[str, Any]:
    if move.chosen is not None:
        return {"metadata": typed_json.dump({"chosen": list(move.chosen)})}
    return {} if move.metadata is None else {"metadata": move.metadata}


def _wait_values(wait: Wait) -> dict[str, Any]:
    match wait:
        case ChildWait(child_id, memory):
            return {"child_id": child_id} | (memory.columns if memory else {})
        case ApprovalWait() | MomentWait() | EventWait():
            return {"cursor": wait.cursor}
        case _:
            assert_never(wait)


def _iteration_values(move: ExecutionMove) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if move.scheduled_for is not None:
        values["scheduled_for"] = move.scheduled_for
    if move.interrupted_by is not None:
        values["metadata"] = _interruption_metadata(move.record, move.interrupted_by)
    if move.position is not None:
        values |= position_values(move.position)
        if move.outcome is Outcome.SUCCESS and not move.record.is_worker:
            values["cursor"] = None
    return values


def _interruption_metadata(record: ExecutionRecord, by: Interruption) -> str:
    return typed_json.dump({**(typed_json.load(record.metadata) or {}), "interrupted_by": by.value})


def position_values(position: LoopPosition) -> dict[str, Any]:
    return {
        "cursor": position.cursor,
        "completed_iterations": position.completed_iterations,
        "item_errors": position.item_errors,
        "progress": position.progress,
    }


def checkpoint_values(move: ExecutionMove, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield a loop's rows of `checkpoints`: one per skipped item, and one for its last position."""
    if move.position is None:
        return
    yield from skipped_values(move.record, move.position.skipped)
    yield {
        **_NO_ITEM,
        "workflow_id": move.record.workflow_id,
        "execution_id": move.record.id,
        "cursor": move.position.cursor,
        "completed_iterations": move.position.completed_iterations,
        "reason": move.interrupted_by or move.outcome or move.state,
        "error_class": move.error.error_class if move.error else None,
        "error_message": move.error.message if move.error else None,
        "at": now,
    }


def skipped_values(
    record: ExecutionRecord, skipped: Sequence[SkippedItem]
) -> Iterator[dict[str, Any]]:
    for one in skipped:
        yield {
            **asdict(one),
            "workflow_id": record.workflow_id,
            "execution_id": record.id,
            "reason": SKIPPED_ITEM,
        }


def workflow_values(change: Change, now: datetime) -> dict[str, Any]:
    """Return the columns that a change writes to the workflow; others keep their values."""
    record, moved = change.record, change.workflow
    values: dict[str, Any] = {
        "state": moved.state,
        "requested": moved.requested,
        "requested_reason": moved.requested_reason,
        "next_step_name": moved.next_step_name,
        "previous_step_name": moved.previous_step_name,
        "paused_reason": moved.paused_reason,
        "paused_step_name": moved.paused_step_name,
        "updated_at": now,
    }
    opened = _opened_waits(change.executions)
    if opened:
        values["open_waits"] = record.open_waits + opened
    started = [
        move.record.started_at
        for move in change.executions
        # An execution that is scheduled again was claimed, but has not started.
        if move.record.started_at and move.state is not StepState.SCHEDULED
    ]
    if record.started_at is None and started:
        values["started_at"] = min(started)
    if change.context is not None:
        values["context"] = change.context
    if moved.result is not None:
        values |= {"result": moved.result, "result_reason": moved.result_reason}
    if change.freezes_graph:
        values["has_graph"] = True
    match moved.state:
        case WorkflowState.PAUSED if record.state is not WorkflowState.PAUSED:
            values["paused_at"] = now
        case WorkflowState.READY:
            values["paused_at"] = None
        case WorkflowState.FINISHED:
            values |= {"finished_at": now, "paused_at": None}
        case WorkflowState.CANCELED:
            values |= {"canceled_at": now, "paused_at": None}
    return values


def _opened_waits(moves: Sequence[ExecutionMove]) -> int:
    """Return how many more executions wait for a person or an event than before."""
    opened = 0
    for move in moves:
        if move.state is StepState.WAITING and move.record.state is not StepState.WAITING:
            opened += is_external(move.wait)
        elif move.record.state is StepState.WAITING and move.state is not StepState.WAITING:
            opened -= is_external(wait_of(move.record))
    return opened


def new_execution_values(
    workflow: WorkflowRecord, new: NewExecution, attempt: int, now: datetime
) -> dict[str, Any]:
    """Return the columns of a new execution, which is claimable at once if it is due.

    This is the only list of these columns: `writer` inserts them, and the fast paths turn them
    into records.
    """
    may_run = new.state is StepState.SCHEDULED and new.stop is None
    is_due = new.scheduled_for <= now
    return {
        "workflow_id": workflow.id,
        "type": workflow.type if new.lane is None else new.lane,
        "signature": new.signature,
        "step_name": new.step_name,
        "node_id": new.node_id,
        "slot": new.slot,
        "attempt_number": attempt,
        "state": new.state,
        "outcome": new.outcome,
        "queue": new.queue,
        "priority": new.priority,
        "claimable": may_run and is_due,
        "wakes_at": new.scheduled_for if may_run and not is_due else None,
        "stop": new.stop,
        "worker_id": None,
        "claim_token": None,
        "failures": new.failures,
        "recoveries": new.recoveries,
        "ancestry_hash": new.ancestry_hash,
        "child_id": new.child_id,
        "share": new.share,
        "result": new.result,
        "scheduled_for": new.scheduled_for,
        "created_at": now,
        "started_at": None,
        "finished_at": now if new.state in _ENDS else None,
    }


def execution_record(execution_id: Key, values: Mapping[str, Any]) -> ExecutionRecord:
    """Return the record of a row that was inserted with `values`, without reading it."""
    columns = {**values, "id": execution_id}
    del columns["wakes_at"]  # the only one of these columns that records do not have
    return ExecutionRecord(**columns)


def claim_values(worker_id: str, token: str, now: datetime) -> dict[str, Any]:
    return {
        "state": StepState.IN_PROGRESS,
        "claimable": False,
        "wakes_at": None,
        "worker_id": worker_id,
        "claim_token": token,
        "started_at": now,
    }
