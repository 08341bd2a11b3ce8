"""Write the records of changes: checkpoints, audit entries, resume requests and dead letters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from geneva_drive.engine.commit import dead_letters
from geneva_drive.engine.commit.rows import checkpoint_values
from geneva_drive.engine.transitions.change import (
    AuditEntry,
    Change,
    ExecutionMove,
    ResumeRequest,
)
from geneva_drive.engine.transitions.wait_kinds import is_external, wait_of
from geneva_drive.states import StepState
from geneva_drive.storage.dialects.kept_writes import KeptWrite
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.store import Store


def append(connection: Connection, store: Store, changes: Sequence[Change], now: datetime) -> None:
    """Write the records in the transaction of the changes, so that neither exists alone."""
    moves = [move for change in changes for move in change.executions]
    store.checkpoints.append(
        connection, [row for move in moves for row in checkpoint_values(move, now)]
    )
    store.audit_entries.append(
        connection,
        [_audit_values(change.record, change.audit, now) for change in changes if change.audit],
    )
    _append_resume_requests(connection, store, changes, now)
    for change in changes:
        if change.dead_letter is not None:
            step_name = change.workflow.paused_step_name or change.record.next_step_name
            dead_letters.report(
                connection, store, change.record.id, change.dead_letter, step_name, now
            )


def _append_resume_requests(
    connection: Connection, store: Store, changes: Sequence[Change], now: datetime
) -> None:
    rows = []
    for change in changes:
        request = change.resume
        if any(_takes_effect(move) for move in change.executions):
            store.resume_requests.execute(connection, change.record.id, now)
        if request is None:
            continue
        rows.append(_resume_values(change.record, request, now))
    store.resume_requests.append(connection, rows)


def _takes_effect(move: ExecutionMove) -> bool:
    """True if the execution is released now, after its decision came while it was held."""
    is_released = move.record.stop is not None and move.stop is None
    is_decided = move.record.state is StepState.SCHEDULED is move.state
    return is_released and is_decided and is_external(wait_of(move.record))


def writes_of(store: Store, change: Change, now: datetime) -> Iterator[KeptWrite]:
    """Yield the writes of a decision's records: its audit entry and its resume request."""
    if change.audit is not None:
        yield store.audit_entries.appending(_audit_values(change.record, change.audit, now))
    if change.resume is not None:
        yield store.resume_requests.appending(_resume_values(change.record, change.resume, now))


def _audit_values(record: WorkflowRecord, audit: AuditEntry, now: datetime) -> dict[str, Any]:
    return {
        "workflow_id": record.id,
        "command": audit.command,
        "actor": audit.actor,
        "reason": audit.reason,
        "approval_id": audit.approval_id,
        "at": now,
    }


def _resume_values(record: WorkflowRecord, request: ResumeRequest, now: datetime) -> dict[str, Any]:
    return {
        "workflow_id": record.id,
        "kind": request.trigger,
        "trigger_id": request.trigger_id,
        "actor": request.actor,
        "data": request.data,
        "requested_at": now,
        "executed_at": now if request.is_executed else None,
    }
