"""Write dead letters: workflows that need an operator, each with a snapshot of its state."""

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
_LONGEST_MESSAGE = 2000  # characters; the execution keeps the whole message


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
    """Add a dead letter for a locked workflow, once the change that led to it is written.

    If the workflow has a pending one, that is updated instead.
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
    """Return the states of unfinished nodes, and the error, checkpoint and worker of one of them.

    That one is the node of `step_name`, or else the most urgent one.
    """
    nodes = store.attempts.unfinished(connection, workflow_id, _MOST_NODES)
    chosen = next((one for one in nodes if one.step_name == step_name), nodes[0] if nodes else None)
    shown = None if chosen is None else store.executions.get(connection, chosen.execution_id)
    return {
        "nodes": {one.node_id: one.state for one in nodes},
        "error": None if shown is None else _last_error(connection, store, shown),
        "checkpoint": None if shown is None else _checkpoint(shown),
        "worker": None if shown is None else shown.worker_id,
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
        # Typed JSON as it is stored: readers may lack the cursor's classes.
        "cursor": None if execution.cursor is None else json.loads(execution.cursor),
        "completed_iterations": execution.completed_iterations,
        "item_errors": execution.item_errors,
    }
