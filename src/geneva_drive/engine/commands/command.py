"""Execute a command: lock the workflow, decide, write the change with its audit entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.engine.commands.subject import Subject
from geneva_drive.engine.commit.ending import Applied
from geneva_drive.engine.commit.writer import write
from geneva_drive.engine.graphs.nodes import nodes_of
from geneva_drive.engine.transitions.change import AuditEntry, Change
from geneva_drive.errors import WorkflowNotFound
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.store import Store

Decision = Callable[[Subject], Change]


def execute(
    connection: Connection,
    store: Store,
    workflow_id: Key,
    decision: Decision,
    *,
    audit: AuditEntry,
    now: datetime,
) -> Applied:
    """Execute a command in the caller's transaction; a refused one raises and writes nothing."""
    change = decision(lock_subject(connection, store, workflow_id, now))
    [applied] = write(connection, store, [replace(change, audit=audit)], now, read_back=True)
    return applied


def lock_subject(connection: Connection, store: Store, workflow_id: Key, now: datetime) -> Subject:
    """Lock a workflow with its active executions, and return it as commands see it."""
    workflow = store.workflows.lock(connection, [workflow_id]).get(workflow_id)
    if workflow is None:
        raise WorkflowNotFound(workflow_id)
    active = tuple(store.executions.lock_active(connection, workflow_id))
    # A dynamic workflow may have 100,000 attempts; load only the unfinished ones.
    is_dynamic = workflow.type == DYNAMIC_TYPE
    find = store.attempts.undone if is_dynamic else store.attempts.latest_of
    return Subject(
        workflow=workflow,
        active=active,
        now=now,
        read_attempts=lambda: find(connection, workflow_id),
        read_nodes=lambda attempts: nodes_of(connection, store, workflow, attempts, now),
    )
