"""Workflows that a node starts and waits for."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from geneva_drive.engine.commit.ending import Applied
from geneva_drive.engine.commit.writer import write
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import Change, ExecutionMove, unchanged
from geneva_drive.engine.transitions.wait import ChildWait, wait_of
from geneva_drive.states import StepState
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord


def wake_parents(environment: Environment, ended: Iterable[WorkflowRecord]) -> list[Applied]:
    """Let the nodes run on that wait for workflows which have ended.

    In a transaction of its own: parent and child share no lock, so that neither waits for the
    other. What a crash leaves undone in between, housekeeping finds.
    """
    ids = [one.parent_execution_id for one in ended if one.parent_execution_id is not None]
    if not ids:
        return []
    store, now = environment.store, environment.clock.now()

    def wake(connection: Connection) -> list[Applied]:
        owners = store.executions.get_many(connection, ids)
        workflows = store.workflows.lock(connection, {one.workflow_id for one in owners})
        waiting = [
            one
            for one in store.executions.lock(connection, ids).values()
            if one.state is StepState.WAITING
        ]
        changes = [
            Change(
                record=workflows[key],
                workflow=unchanged(workflows[key]),
                executions=tuple(_woken(one) for one in waiting if one.workflow_id == key),
            )
            for key in sorted({one.workflow_id for one in waiting})
        ]
        return write(connection, store, changes, now)

    return store.write(wake)


def _woken(record: ExecutionRecord) -> ExecutionMove:
    # Of a workflow that is held, only `resume` lets it run.
    return ExecutionMove(
        record=record,
        state=StepState.SCHEDULED,
        claimable=record.stop is None,
        stop=record.stop,
    )


def abandoned_by(applied: Iterable[Applied]) -> list[Key]:
    """Name the workflows for which nodes wait no longer, although they have not ended."""
    waits = (
        # Or the one that it has started just now, and is not to wait for any more.
        move.wait or wait_of(move.record)
        for one in applied
        for move in one.change.executions
        if move.state in (StepState.CANCELED, StepState.SKIPPED)
    )
    return [wait.child_id for wait in waits if isinstance(wait, ChildWait)]
