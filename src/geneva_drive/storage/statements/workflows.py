"""Statements on workflows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    STORED_WORKFLOW_STATES,
    Request,
    StepState,
    WorkflowState,
)
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.dialects.kept_writes import KeptWrite, new_places, new_values
from geneva_drive.storage.schema.execution_conditions import is_active_execution
from geneva_drive.storage.schema.records import WORKFLOW_COLUMNS, Key, WorkflowRecord
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.statement_portions import portions

_TYPES_AT_ONCE = 250


class Workflows:
    """The rows of `workflows`."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._table = tables.workflows
        self._dialect = dialect
        self._moves: dict[tuple[str, ...], Update] = {}

    def insert(self, connection: Connection, values: Mapping[str, Any]) -> Key:
        [row] = self._tables.keyed([values])
        result = connection.execute(insert(self._table), row)
        return result.inserted_primary_key[0] if result.inserted_primary_key else row["id"]

    def get(self, connection: Connection, workflow_id: Key) -> WorkflowRecord | None:
        found = self.get_many(connection, [workflow_id])
        return found.get(workflow_id)

    def get_many(self, connection: Connection, ids: Sequence[Key]) -> dict[Key, WorkflowRecord]:
        rows = connection.execute(select(self._table).where(self._table.c.id.in_(ids)))
        return {row["id"]: WorkflowRecord.of(row) for row in rows.mappings()}

    def analyze(self, connection: Connection) -> None:
        """Update the table's statistics, after the states of very many workflows changed."""
        self._dialect.analyze(connection, self._table)

    def last_id(self, connection: Connection) -> Key | None:
        """Return the highest id; None if there are no workflows."""
        key = self._table.c.id
        found: Key | None = connection.scalar(select(key).order_by(key.desc()).limit(1))
        return found

    def is_ended(self, connection: Connection, workflow_id: Key) -> bool:
        """True if a workflow has ended or was deleted: only ended workflows are deleted."""
        c = self._table.c
        state = connection.scalar(select(c.state).where(c.id == workflow_id))
        return state is None or WorkflowState(state) in ENDED_WORKFLOW_STATES

    def started_by(self, connection: Connection, workflow_id: Key) -> str | None:
        c = self._table.c
        return connection.scalar(select(c.started_by).where(c.id == workflow_id))

    def lock(self, connection: Connection, ids: Iterable[Key]) -> dict[Key, WorkflowRecord]:
        """Lock and read workflows in the order of their ids, so that committers cannot deadlock."""
        rows = connection.execute(self._locking, {"ids": sorted(set(ids))}).all()
        records = map(WorkflowRecord.read, rows)
        return {record.id: record for record in records}

    @cached_property
    def _locking(self) -> Select[Any]:
        c = self._table.c
        columns = (c[name] for name in WORKFLOW_COLUMNS)
        query = select(*columns).where(self._dialect.listed(c.id, "ids")).order_by(c.id)
        return self._dialect.lock(query)

    def adopt(self, connection: Connection, ids: Sequence[Key], execution_id: Key) -> None:
        """Assign children to a further attempt at the node that started them."""
        if ids:
            statement = update(self._table).where(self._table.c.id.in_(ids))
            connection.execute(statement.values(parent_execution_id=execution_id))

    def unlocked(self, connection: Connection, ids: Iterable[Key]) -> set[Key]:
        """Lock and return the workflows that are not locked by others."""
        query = select(self._table.c.id).where(self._table.c.id.in_(sorted(set(ids))))
        return set(connection.scalars(self._dialect.lock(query, skip_locked=True)))

    def move(
        self,
        connection: Connection,
        ids: Sequence[Key],
        state: WorkflowState,
        values: Mapping[str, Any],
    ) -> int:
        """Update workflows that are still in `state`; return their number."""
        write = self.moving(ids, state, values)
        return connection.execute(write.statement, write.values).rowcount

    def moving(
        self, ids: Sequence[Key], state: WorkflowState, values: Mapping[str, Any]
    ) -> KeptWrite:
        """Return the write of `move`."""
        given = {"ids": ids, "former": state, **new_values(values)}
        return KeptWrite(self._moving(tuple(values)), given)

    def _moving(self, names: tuple[str, ...]) -> Update:
        """Return the statement that sets these columns; few combinations occur."""
        statement = self._moves.get(names)
        if statement is None:
            c = self._table.c
            statement = (
                update(self._table)
                .where(
                    self._dialect.listed(c.id, "ids"),
                    self._dialect.unindexed(c.state) == bindparam("former"),
                )
                .values(new_places(names))
            )
            self._moves[names] = statement
        return statement

    def with_idempotency_key(
        self, connection: Connection, type_name: str, key: str
    ) -> WorkflowRecord | None:
        c = self._table.c
        return self._first(connection, and_(c.type == type_name, c.idempotency_key == key))

    def ongoing_of_hero(
        self, connection: Connection, type_name: str, hero_type: str, hero_id: str
    ) -> WorkflowRecord | None:
        c = self._table.c
        return self._first(
            connection,
            and_(
                c.type == type_name,
                c.hero_type == hero_type,
                c.hero_id == hero_id,
                c.state.not_in(ENDED_WORKFLOW_STATES),
                ~c.allow_multiple,
            ),
        )

    def _first(
        self, connection: Connection, condition: ColumnElement[bool]
    ) -> WorkflowRecord | None:
        query = select(self._table).where(condition).order_by(self._table.c.id).limit(1)
        row = connection.execute(query).mappings().first()
        return WorkflowRecord.of(row) if row else None

    def is_ongoing(self) -> ColumnElement[bool]:
        return self._table.c.state.not_in(ENDED_WORKFLOW_STATES)

    def ended_and_awaited(
        self, connection: Connection, limit: int, passed_over: Collection[Key] = ()
    ) -> list[WorkflowRecord]:
        """Return ended workflows for which a node still waits."""
        e, c = self._tables.step_executions.c, self._table.c
        is_awaited = (e.child_id == c.id) & (e.state == StepState.WAITING)
        # Start from the few waiting nodes: the ended workflows are the whole history.
        has_ended = self._dialect.unindexed(c.state).in_(ENDED_WORKFLOW_STATES)
        query = (
            select(self._table)
            .join(self._tables.step_executions, is_awaited)
            .where(e.child_id.is_not(None), has_ended)
            .limit(limit)
        )
        if passed_over:
            query = query.where(e.child_id.not_in(passed_over))
        return [WorkflowRecord.of(row) for row in connection.execute(query).mappings()]

    def abandoned(
        self, connection: Connection, limit: int, passed_over: Collection[Key] = ()
    ) -> Sequence[Key]:
        """Return ongoing child workflows whose parent node has been canceled or skipped."""
        e, c = self._tables.step_executions.c, self._table.c
        is_over = e.state.in_([StepState.CANCELED, StepState.SKIPPED])
        is_of_canceled = (e.id == c.parent_execution_id) & is_over
        query = (
            select(c.id)
            .join(self._tables.step_executions, is_of_canceled)
            .where(c.parent_execution_id.is_not(None), self.is_ongoing(), ~c.is_detached)
            .where(c.requested.is_(None) | (c.requested != Request.CANCEL))
            .limit(limit)
        )
        if passed_over:
            query = query.where(c.id.not_in(passed_over))
        return connection.scalars(query).all()

    def expired(
        self, connection: Connection, now: datetime, limit: int, passed_over: Collection[Key] = ()
    ) -> list[WorkflowRecord]:
        """Return ongoing workflows past their timeout, except those with a requested cancel."""
        c = self._table.c
        query = (
            select(self._table)
            .where(c.expires_at.is_not(None), c.expires_at <= now)
            .where(self._dialect.unindexed(c.state).not_in(ENDED_WORKFLOW_STATES))
            .where(c.requested.is_(None) | (c.requested != Request.CANCEL))
            .order_by(c.expires_at)
            .limit(limit)
        )
        if passed_over:
            query = query.where(c.id.not_in(passed_over))
        return [WorkflowRecord.of(row) for row in connection.execute(query).mappings()]

    def ready_types(self, connection: Connection, among: Sequence[str]) -> list[str]:
        """Return the types, among these, that have a ready workflow."""
        c = self._table.c
        ready: list[str] = []
        for some in portions(among, _TYPES_AT_ONCE):
            # One index lookup per type: DISTINCT would read a million sleepers one by one.
            looks = (exists().where(c.state == WorkflowState.READY, c.type == one) for one in some)
            row = connection.execute(select(*looks)).one()
            ready += [name for name, is_ready in zip(some, row, strict=True) if is_ready]
        return ready

    def orphans(
        self, connection: Connection, type_name: str, *, after: Key | None, portion: int
    ) -> tuple[Sequence[Key], Key | None]:
        """Return the orphans among the next `portion` ready workflows of a type, by id.

        The second value is the portion's last id, or None for the last portion.
        """
        c, e = self._table.c, self._tables.step_executions.c
        following = self._dialect.along_index(
            select(c.id),
            self._tables.workflows_by_state,
            (WorkflowState.READY, type_name),
            after=after,
        )
        last: Key | None = connection.scalar(following.offset(portion - 1).limit(1))
        walk = [c.state == WorkflowState.READY, c.type == type_name]
        is_active = [e.workflow_id == c.id, is_active_execution(self._tables)]
        # Bound the executions, too: otherwise a merge join reads all executions.
        for key, conditions in ((c.id, walk), (e.workflow_id, is_active)):
            if after is not None:
                conditions.append(key > after)
            if last is not None:
                conditions.append(key <= last)
        query = select(c.id).where(*walk).order_by(c.id)
        query = self._dialect.by_index(query, self._table, f"{self._table.name}_state")
        found = self._dialect.without_match(query, self._tables.step_executions, and_(*is_active))
        return connection.scalars(found).all(), last

    def ended(
        self, connection: Connection, before: datetime, limit: int, *, passing_over: Collection[Key]
    ) -> Sequence[Key]:
        """Return workflows that ended before a moment, without locks."""
        ids: list[Key] = []
        for query in self._ended(before, passing_over):
            ids += connection.scalars(query.limit(limit - len(ids)))
        return ids

    def delete_ended(
        self,
        connection: Connection,
        before: datetime,
        limit: int,
        *,
        passing_over: Collection[Key] = (),
    ) -> int:
        """Delete a batch of workflows that ended before a moment, with all their rows.

        Locked workflows are skipped, so that two processes do not wait for each other.
        """
        ids: list[Key] = []
        for query in self._ended(before, passing_over):
            wanted = query.limit(limit - len(ids))
            ids += connection.scalars(self._dialect.lock(wanted, skip_locked=True))
        return self._delete(connection, ids)

    def _ended(self, before: datetime, passing_over: Collection[Key]) -> list[Select[Any]]:
        """Return a query for each column of an ending: each has its own index."""
        c = self._table.c
        # No `IN` with the ended states: SQLite would read the index of states instead.
        conditions = [
            c.state.not_in(STORED_WORKFLOW_STATES - ENDED_WORKFLOW_STATES),
            or_(c.parent_execution_id.is_(None), ~self._is_awaited()),
        ]
        if passing_over:
            conditions.append(c.id.not_in(passing_over))
        return [
            select(c.id).where(ended_at < before, *conditions).order_by(ended_at, c.id)
            for ended_at in (c.finished_at, c.canceled_at)
        ]

    def _is_awaited(self) -> ColumnElement[bool]:
        """True if the node that started a workflow still waits, for it or for a sibling."""
        e = self._tables.step_executions.c
        is_parent = e.id == self._table.c.parent_execution_id
        return exists(select(e.id).where(is_parent, e.state == StepState.WAITING))

    def delete(self, connection: Connection, workflow_id: Key) -> int:
        """Delete one workflow that has ended, unless it is locked."""
        c = self._table.c
        query = select(c.id).where(c.id == workflow_id, c.state.in_(ENDED_WORKFLOW_STATES))
        found = connection.scalars(self._dialect.lock(query, skip_locked=True))
        return self._delete(connection, found.all())

    def _delete(self, connection: Connection, locked: Sequence[Key]) -> int:
        if not locked:
            return 0
        ids = sorted(locked)
        for table in (
            self._tables.step_executions,
            self._tables.graph_joins,
            self._tables.graph_nodes,
            self._tables.graphs,
            self._tables.audit_entries,
            self._tables.dead_letters,
            self._tables.approvals,
            self._tables.resume_requests,
        ):
            connection.execute(delete(table).where(table.c.workflow_id.in_(ids)))
        return connection.execute(delete(self._table).where(self._table.c.id.in_(ids))).rowcount
