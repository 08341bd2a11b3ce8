"""Execute a command: lock the workflow, decide, write the change with its audit entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.engine.commands.batch_commands import after_command
from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.commit.writer import write
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.graphs.nodes import nodes_of
from geneva_drive.engine.transitions.change import AuditEntry, Change
from geneva_drive.errors import WorkflowNotFound
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.store import Store

Decision = Callable[[CommandedWorkflow], Change]


def execute(
    connection: Connection,
    store: Store,
    workflow_id: Key,
    decision: Decision,
    *,
    audit: AuditEntry,
    now: datetime,
) -> Applied:
    """Execute a command in the caller's transaction; raise, and write nothing, if it is refused."""
    change = decision(lock_subject(connection, store, workflow_id, now))
    [applied] = write(connection, store, [replace(change, audit=audit)], now, read_back=True)
    further = after_command(connection, store, applied.workflow, now)
    if further is None:
        return applied
    [more] = write(connection, store, [further], now, read_back=True)
    return applied.followed_by(more)


def lock_subject(
    connection: Connection, store: Store, workflow_id: Key, now: datetime
) -> CommandedWorkflow:
    """Lock a workflow with its active executions, and return it for a command's decision."""
    workflow = store.workflows.lock(connection, [workflow_id]).get(workflow_id)
    if workflow is None:
        raise WorkflowNotFound(workflow_id)
    active = tuple(store.executions.lock_active(connection, workflow_id))
    return CommandedWorkflow(
        workflow=workflow,
        active=active,
        now=now,
        definition=definition_lookup.read_definition(connection, store, workflow),
        read_attempts=lambda: attempts_of(connection, store, workflow),
        read_nodes=lambda attempts: nodes_of(connection, store, workflow, attempts, now),
    )


def attempts_of(
    connection: Connection, store: Store, workflow: WorkflowRecord
) -> list[ExecutionRecord]:
    """Return the latest attempts; of dynamic nodes and batch workers, only the unsuccessful ones.

    A workflow may have 100,000 of these.
    """
    if workflow.type == DYNAMIC_TYPE:
        return store.attempts.undone(connection, workflow.id)
    attempts = store.attempts.latest_of(connection, workflow.id)
    definition = definition_lookup.read_definition(connection, store, workflow)
    if definition is not None and definition.expands:
        attempts += store.attempts.undone_workers(connection, workflow.id)
    return attempts
