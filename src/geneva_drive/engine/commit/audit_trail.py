"""Write what changes record beside states: checkpoints, audit and resume entries, dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.engine.commit import dead_letters
from geneva_drive.engine.commit.rows import checkpoint_values
from geneva_drive.engine.transitions.change import Change, ExecutionMove
from geneva_drive.engine.transitions.wait_kinds import rests_on, wait_of
from geneva_drive.states import StepState
from geneva_drive.storage.store import Store


def append(connection: Connection, store: Store, changes: Sequence[Change], now: datetime) -> None:
    """Write the records in the transaction of the changes, so that neither exists alone."""
    moves = [move for change in changes for move in change.executions]
    store.checkpoints.append(
        connection, [row for move in moves for row in checkpoint_values(move, now)]
    )
    store.audit_entries.append(
        connection,
        [
            {
                "workflow_id": change.record.id,
                "command": change.audit.command,
                "actor": change.audit.actor,
                "reason": change.audit.reason,
                "approval_id": change.audit.approval_id,
                "at": now,
            }
            for change in changes
            if change.audit
        ],
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
        rows.append(
            {
                "workflow_id": change.record.id,
                "kind": request.trigger,
                "trigger_id": request.trigger_id,
                "actor": request.actor,
                "data": request.data,
                "requested_at": now,
                "executed_at": now if request.is_executed else None,
            }
        )
    store.resume_requests.append(connection, rows)


def _takes_effect(move: ExecutionMove) -> bool:
    """True if the execution goes on by a decision that was taken while the workflow was held."""
    is_released = move.record.stop is not None and move.stop is None
    is_decided = move.record.state is StepState.SCHEDULED is move.state
    return is_released and is_decided and rests_on(wait_of(move.record))
