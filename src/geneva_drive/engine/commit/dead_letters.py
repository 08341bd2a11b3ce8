"""Write dead letters: workflows that need an operator, each with a snapshot of how it stood."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from geneva_drive.engine.transitions.wait_kinds import wait_of
from geneva_drive.states import DeadLetterReason, DeadLetterState
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.storage.store import Store

_MOST_NODES = 100  # a dynamic workflow may have 100,000
_LONGEST_MESSAGE = 2000  # characters; the execution has all of it


def report(
    connection: Connection,
    store: Store,
    workflow_id: Key,
    reason: DeadLetterReason,
    step_name: str | None,
    now: datetime,
    *,
    notes: str | None = None,
) -> None:
    """Add an entry for a locked workflow, after the change that led to it was written.

    An entry that is pending is updated instead.
    """
    store.dead_letters.add(
        connection,
        {
            "workflow_id": workflow_id,
            "step_name": step_name,
            "reason": reason,
            "state": DeadLetterState.PENDING,
            "snapshot": json.dumps(_snapshot(connection, store, workflow_id, step_name)),
            "created_at": now,
            "notes": notes,
        },
    )


def _snapshot(
    connection: Connection, store: Store, workflow_id: Key, step_name: str | None
) -> dict[str, Any]:
    """Return how the unfinished nodes stand, and the error, checkpoint and worker of the worst."""
    nodes = store.attempts.unfinished(connection, workflow_id, _MOST_NODES)
    chosen = next((one for one in nodes if one.step_name == step_name), nodes[0] if nodes else None)
    worst = None if chosen is None else store.executions.get(connection, chosen.execution_id)
    return {
        "nodes": {one.node_id: one.state for one in nodes},
        "error": None if worst is None else _last_error(connection, store, worst),
        "checkpoint": None if worst is None else _checkpoint(worst),
        "worker": None if worst is None else worst.worker_id,
    }


def _last_error(
    connection: Connection, store: Store, execution: ExecutionRecord
) -> dict[str, Any] | None:
    failed: ExecutionRecord | None = execution
    if execution.error_class is None and execution.attempt_number > 1:
        failed = store.attempts.before(connection, execution)
    if failed is None or failed.error_class is None:
        return None
    return {
        "step_name": failed.step_name,
        "attempt_number": failed.attempt_number,
        "class": failed.error_class,
        "message": (failed.error_message or "")[:_LONGEST_MESSAGE],
    }


def _checkpoint(execution: ExecutionRecord) -> dict[str, Any] | None:
    is_loop = execution.cursor is not None or execution.completed_iterations > 0
    if not is_loop or wait_of(execution) is not None:
        return None
    return {
        # Typed JSON as it is stored: the reader may lack the types of the cursor.
        "cursor": None if execution.cursor is None else json.loads(execution.cursor),
        "completed_iterations": execution.completed_iterations,
        "item_errors": execution.item_errors,
    }
