"""Execute one command on a set of workflows, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial

from sqlalchemy import Connection

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.definition import Definition
from geneva_drive.engine.commands.batch_commands import after_command
from geneva_drive.engine.commands.command import Decision, attempts_of
from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.commit.writer import group_by_workflow, write
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.graphs.nodes import GraphNodes, nodes_of
from geneva_drive.engine.transitions.change import AuditEntry, Change, NewExecution
from geneva_drive.errors import GenevaDriveError, StorageError
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.store import Store


@dataclass(frozen=True, slots=True)
class SetOutcome:
    """The result of a command on a set of workflows."""

    applied: list[Applied]
    refused: dict[Key, GenevaDriveError]


def execute_set(
    connection: Connection,
    store: Store,
    workflows: Mapping[Key, WorkflowRecord],
    decision: Decision,
    *,
    audit: AuditEntry,
    now: datetime,
    read_back: bool = False,
) -> SetOutcome:
    """Execute a command on locked workflows; a workflow that refuses it stays unchanged.

    Each workflow gets its own audit entry.
    """
    changes: list[Change] = []
    refused: dict[Key, GenevaDriveError] = {}
    for subject in _subjects(connection, store, workflows, now):
        record = subject.workflow
        # A decision about a graph may write its counts, which a refusal must undo.
        undoing = connection.begin_nested() if record.next_step_name is None else nullcontext()
        try:
            with undoing:
                change = decision(subject)
                changes.append(replace(change, audit=audit, schedule=_numbered(subject, change)))
        except StorageError:
            raise
        except GenevaDriveError as refusal:
            refused[record.id] = refusal
    applied = write(connection, store, changes, now, read_back=read_back) if changes else []
    return SetOutcome([_follow(connection, store, one, now) for one in applied], refused)


def _numbered(subject: CommandedWorkflow, change: Change) -> tuple[NewExecution, ...]:
    """Return the planned executions with their attempt numbers, so that no query needs to."""
    if not change.schedule or not _has_few_attempts(subject.workflow, subject.definition):
        return change.schedule
    tried = {one.node_id: one.attempt_number for one in subject.attempts}
    return tuple(
        replace(new, attempt=new.attempt or tried.get(new.node_id, 0) + 1)
        for new in change.schedule
    )


def _follow(connection: Connection, store: Store, applied: Applied, now: datetime) -> Applied:
    further = after_command(connection, store, applied.workflow, now)
    if further is None:
        return applied
    [more] = write(connection, store, [further], now, read_back=True)
    return applied.followed_by(more)


def _subjects(
    connection: Connection, store: Store, workflows: Mapping[Key, WorkflowRecord], now: datetime
) -> list[CommandedWorkflow]:
    """Return the workflows for a command's decisions, ordered by id."""
    active = group_by_workflow(store.executions.lock_active_of(connection, sorted(workflows)))
    definitions = {
        key: definition_lookup.read_definition(connection, store, record)
        for key, record in workflows.items()
    }
    small = [key for key, one in workflows.items() if _has_few_attempts(one, definitions[key])]
    attempts = _Attempts(connection, store, sorted(small))
    return [
        CommandedWorkflow(
            workflow=record,
            active=tuple(active.get(key, ())),
            now=now,
            definition=definitions[key],
            read_attempts=partial(attempts.of, record),
            read_nodes=partial(_nodes, connection, store, record, now),
        )
        for key, record in sorted(workflows.items())
    ]


class _Attempts:
    """The latest attempts of a set of workflows, all read when the first decision needs them."""

    def __init__(self, connection: Connection, store: Store, small: Sequence[Key]) -> None:
        self._connection = connection
        self._store = store
        self._small = small

    @cached_property
    def _read(self) -> Mapping[Key, list[ExecutionRecord]]:
        found = self._store.attempts.latest_of_each(self._connection, self._small)
        return {key: [] for key in self._small} | dict(group_by_workflow(found))

    def of(self, record: WorkflowRecord) -> list[ExecutionRecord]:
        found = self._read.get(record.id)
        return attempts_of(self._connection, self._store, record) if found is None else found


def _has_few_attempts(record: WorkflowRecord, definition: Definition | None) -> bool:
    return record.type != DYNAMIC_TYPE and not (definition is not None and definition.expands)


def _nodes(
    connection: Connection,
    store: Store,
    record: WorkflowRecord,
    now: datetime,
    attempts: tuple[ExecutionRecord, ...],
) -> GraphNodes | None:
    return nodes_of(connection, store, record, attempts, now)
