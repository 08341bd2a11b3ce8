"""Statements on step executions, which are also the queue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    Update,
    bindparam,
    case,
    func,
    literal,
    select,
    update,
)
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import Outcome, Request, StepState
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.dialects.claim_request import later, top_priority
from geneva_drive.storage.dialects.kept_writes import KeptWrite, new_places, new_values
from geneva_drive.storage.schema.execution_conditions import (
    is_active_execution,
    is_worker_execution,
)
from geneva_drive.storage.schema.records import EXECUTION_COLUMNS, ExecutionRecord, Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.attempts import insertion_order
from geneva_drive.storage.statements.statement_portions import PORTION, portions

_VERY_MANY = 5_000


class Executions:
    """The rows of `step_executions`."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._table = tables.step_executions
        self._dialect = dialect
        self._moves: dict[tuple[tuple[str, ...], bool], Update] = {}

    def insert(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        for portion in portions(self._tables.keyed(rows), 10 * PORTION):
            self._dialect.insert_many(connection, self._table, portion)
        if len(rows) >= _VERY_MANY:
            self.analyze(connection)

    def analyze(self, connection: Connection) -> None:
        """Update the table's statistics for the plans of claims, after very many rows changed."""
        self._dialect.analyze(connection, self._table)

    def get(self, connection: Connection, execution_id: Key) -> ExecutionRecord | None:
        return self._by_id(
            connection, select(self._table).where(self._table.c.id == execution_id)
        ).get(execution_id)

    def get_many(self, connection: Connection, ids: Sequence[Key]) -> list[ExecutionRecord]:
        query = select(self._table).where(self._table.c.id.in_(ids))
        return list(self._by_id(connection, query).values())

    def lock(self, connection: Connection, ids: Iterable[Key]) -> dict[Key, ExecutionRecord]:
        """Lock and read executions; the caller has locked their workflows."""
        query = select(self._table).where(self._among(ids)).order_by(self._table.c.id)
        return self._by_id(connection, self._dialect.lock(query))

    def lock_claims(
        self, connection: Connection, ids: Iterable[Key]
    ) -> dict[Key, tuple[str | None, Request | None]]:
        """Lock executions; return the claim token and the stop request of each."""
        rows = connection.execute(self._locking_claims, {"ids": sorted(set(ids))})
        return {row[0]: (row[1], Request(row[2]) if row[2] else None) for row in rows}

    @cached_property
    def _locking_claims(self) -> Select[Any]:
        c = self._table.c
        query = select(c.id, c.claim_token, c.stop).where(self._dialect.listed(c.id, "ids"))
        return self._dialect.lock(query.order_by(c.id))

    def _among(self, ids: Iterable[Key]) -> ColumnElement[bool]:
        return self._dialect.among(self._table.c.id, sorted(set(ids)))

    def lock_active(self, connection: Connection, workflow_id: Key) -> list[ExecutionRecord]:
        """Lock and read a workflow's active executions; the caller has locked the workflow."""
        c = self._table.c
        query = (
            select(self._table)
            .where(c.workflow_id == workflow_id, is_active_execution(self._tables))
            .order_by(c.id)
        )
        return list(self._by_id(connection, self._dialect.lock(query)).values())

    def lock_active_of(
        self, connection: Connection, workflow_ids: Sequence[Key]
    ) -> list[ExecutionRecord]:
        """Lock and read the active executions of workflows that the caller has locked."""
        c = self._table.c
        query = (
            select(self._table)
            .where(
                self._dialect.among(c.workflow_id, workflow_ids), is_active_execution(self._tables)
            )
            .order_by(c.id)
        )
        return list(self._by_id(connection, self._dialect.lock(query)).values())

    def of_workflow(self, connection: Connection, workflow_id: Key) -> list[ExecutionRecord]:
        c = self._table.c
        query = (
            select(self._table)
            .where(c.workflow_id == workflow_id)
            .order_by(*insertion_order(self._tables))
        )
        return list(self._by_id(connection, query).values())

    def active_of(
        self, connection: Connection, workflow_ids: Sequence[Key]
    ) -> list[ExecutionRecord]:
        c = self._table.c
        query = (
            select(self._table)
            .where(c.workflow_id.in_(workflow_ids), is_active_execution(self._tables))
            .order_by(c.id)
        )
        return list(self._by_id(connection, query).values())

    def list_matching(
        self, connection: Connection, conditions: Mapping[str, Any], *, limit: int | None
    ) -> list[ExecutionRecord]:
        wanted = [self._table.c[name] == value for name, value in conditions.items()]
        query = select(self._table).where(*wanted).order_by(self._table.c.id).limit(limit)
        return list(self._by_id(connection, query).values())

    def count(self, connection: Connection, conditions: Mapping[str, Any]) -> int:
        wanted = [self._table.c[name] == value for name, value in conditions.items()]
        query = select(func.count()).select_from(self._table).where(*wanted)
        return connection.scalar(query) or 0

    def lock_partitions(
        self, connection: Connection, workflow_ids: Iterable[Key]
    ) -> list[ExecutionRecord]:
        """Lock the latest attempts at partitions; the caller has locked their workflows."""
        wanted = sorted(set(workflow_ids))
        if not wanted:
            return []
        c = self._table.c
        latest = (
            select(c.workflow_id, c.node_id, func.max(c.attempt_number).label("attempt_number"))
            .where(
                c.workflow_id.in_(wanted),
                c.share.is_not(None),
                ~is_worker_execution(self._tables),
            )
            .group_by(c.workflow_id, c.node_id)
            .subquery()
        )
        query = select(c.id).join(
            latest,
            (c.workflow_id == latest.c.workflow_id)
            & (c.node_id == latest.c.node_id)
            & (c.attempt_number == latest.c.attempt_number),
        )
        return list(self.lock(connection, connection.scalars(query)).values())

    def move(
        self, connection: Connection, moving: Sequence[ExecutionRecord], values: Mapping[str, Any]
    ) -> int:
        """Update executions that have not changed since the caller read them, and count them.

        The claim token is the fence: a worker that lost its claim cannot end the new claim.
        """
        return sum(self._move(connection, portion, values) for portion in portions(moving))

    def _move(
        self, connection: Connection, moving: Sequence[ExecutionRecord], values: Mapping[str, Any]
    ) -> int:
        c = self._table.c
        tokens = {record.claim_token for record in moving}
        states = {record.state for record in moving}
        fence: ColumnElement[bool] = c.claim_token.in_(tokens - {None})
        if None in tokens:
            fence = c.claim_token.is_(None) | fence if len(tokens) > 1 else c.claim_token.is_(None)
        statement = (
            update(self._table)
            .where(self._among(record.id for record in moving), c.state.in_(states), fence)
            .values(**values)
        )
        return connection.execute(self._dialect.by_key(statement)).rowcount

    def moving(self, record: ExecutionRecord, values: Mapping[str, Any]) -> KeptWrite:
        """Return the write that updates an execution if it is still as the caller read it."""
        is_claimed = record.claim_token is not None
        fence = {"token": record.claim_token} if is_claimed else {}
        given = {"key": record.id, "former": record.state, **fence, **new_values(values)}
        return KeptWrite(self._moving(tuple(values), is_claimed), given)

    def _moving(self, names: tuple[str, ...], is_claimed: bool) -> Update:
        """Return the statement that sets these columns; few combinations occur."""
        statement = self._moves.get((names, is_claimed))
        if statement is None:
            c = self._table.c
            token = c.claim_token
            fence = token == bindparam("token") if is_claimed else token.is_(None)
            statement = self._dialect.by_key(
                update(self._table)
                .where(c.id == bindparam("key"), c.state == bindparam("former"), fence)
                .values(new_places(names))
            )
            self._moves[names, is_claimed] = statement
        return statement

    def cancel_pending(
        self, connection: Connection, outcomes: Mapping[Key, Outcome], now: datetime
    ) -> None:
        """Cancel workers that have not started, in locked workflows that end."""
        c = self._table.c
        reasons: ColumnElement[Any] = case(
            {key: outcome.value for key, outcome in outcomes.items()}, value=c.workflow_id
        )
        connection.execute(
            update(self._table)
            .where(c.workflow_id.in_(list(outcomes)), c.state == StepState.PENDING)
            .values(state=StepState.CANCELED, outcome=reasons, finished_at=now)
        )

    def complete(
        self, connection: Connection, ids: Iterable[Key], claim_token: str, now: datetime
    ) -> int:
        """Record plain successes under one claim token, and count them."""
        values = {"ids": sorted(ids), "under_token": claim_token, "now": now}
        return connection.execute(self._completing, values).rowcount

    @cached_property
    def _completing(self) -> Update:
        c = self._table.c
        statement = (
            update(self._table)
            .where(
                self._dialect.listed(c.id, "ids"),
                c.state == StepState.IN_PROGRESS,
                c.claim_token == bindparam("under_token"),
                c.stop.is_(None),
            )
            .values(
                state=StepState.COMPLETED,
                outcome=Outcome.SUCCESS,
                claim_token=None,
                limit_key=None,
                finished_at=bindparam("now"),
            )
        )
        return self._dialect.by_key(statement)

    def newest_due(
        self,
        connection: Connection,
        type_name: str,
        queue: str | None,
        priority: int,
        limit: int,
    ) -> list[tuple[Key, Key]]:
        """Return the newest executions of a lane with their workflows' keys, newest first.

        Higher priorities come after lower ones. `queue` is None if the worker serves all queues.
        """
        c = self._table.c
        due = [c.claimable, c.type == type_name, c.priority >= priority]
        if queue is not None:
            due.append(c.queue == queue)
        # The order of the claim index, read backwards. Ordered by the key only, PostgreSQL would
        # read the newest rows of the whole table.
        newest = select(c.id, c.workflow_id).where(*due).order_by(c.priority, c.id.desc())
        query = newest.limit(limit)
        return [(row[0], row[1]) for row in connection.execute(query)]

    def claim_one(
        self, connection: Connection, execution_id: Key, claim: Mapping[str, Any]
    ) -> ExecutionRecord | None:
        """Claim one execution, due or not; None if it is held or claimed."""
        c = self._table.c
        free = c.state.in_([StepState.SCHEDULED, StepState.SUSPENDED]) & c.stop.is_(None)
        due = select(c.id).where(c.id == execution_id, free)
        # A suspended execution keeps the time of its first start.
        now = literal(claim["started_at"], c.started_at.type)
        started_at = func.coalesce(c.started_at, later(c.created_at, now))
        values = {**claim, "started_at": started_at}
        rows = self._dialect.take(connection, self._table, due, values)
        return ExecutionRecord.of(rows[0]) if rows else None

    def wake(
        self,
        connection: Connection,
        now: datetime,
        limit: int,
        *,
        only: Key | None = None,
        passed_over: Collection[Key] = (),
    ) -> int:
        """Make up to `limit` due sleepers claimable, and count them."""
        due = self._to_wake(now, limit, passed_over)
        if only is not None:
            due = due.where(self._table.c.id == only)
        return len(
            self._dialect.take(connection, self._table, due, {"claimable": True, "wakes_at": None})
        )

    def to_wake(
        self, connection: Connection, now: datetime, limit: int, passed_over: Collection[Key]
    ) -> list[Key]:
        """Return up to `limit` due sleepers."""
        return list(connection.scalars(self._to_wake(now, limit, passed_over)))

    def _to_wake(self, now: datetime, limit: int, passed_over: Collection[Key]) -> Select[Any]:
        c = self._table.c
        due = select(c.id).where(c.wakes_at.is_not(None), c.wakes_at <= now)
        if passed_over:
            due = due.where(c.id.not_in(passed_over))
        return due.order_by(c.wakes_at).limit(limit)

    def top_priority(
        self, connection: Connection, types: Sequence[str], queues: Iterable[str] | None
    ) -> int | None:
        """Return the highest priority that could be claimed."""
        return top_priority(
            connection, self._tables, types, None if queues is None else sorted(queues)
        )

    def held_by(self, connection: Connection, worker_id: str) -> list[ExecutionRecord]:
        c = self._table.c
        query = select(self._table).where(c.worker_id == worker_id, c.claim_token.is_not(None))
        return list(self._by_id(connection, query).values())

    def held_by_none_of(
        self, connection: Connection, worker_ids: Sequence[str], limit: int
    ) -> list[ExecutionRecord]:
        """Return executions in progress whose worker is not one of these."""
        c = self._table.c
        query = (
            select(self._table)
            .where(c.claim_token.is_not(None), c.worker_id.not_in(worker_ids))
            .order_by(c.worker_id, c.id)
            .limit(limit)
        )
        return list(self._by_id(connection, query).values())

    def with_token(
        self, connection: Connection, worker_id: str, token: str
    ) -> list[ExecutionRecord]:
        """Return a worker's executions under one claim token; the index is by worker."""
        rows = connection.execute(self._with_token, {"held_by": worker_id, "under_token": token})
        return [ExecutionRecord.read(row) for row in rows]

    @cached_property
    def _with_token(self) -> Select[Any]:
        c = self._table.c
        return select(*(c[name] for name in EXECUTION_COLUMNS)).where(
            c.worker_id == bindparam("held_by"), c.claim_token == bindparam("under_token")
        )

    def overdue(self, connection: Connection) -> dict[tuple[str, str], int]:
        """Count claimable executions by type and queue."""
        c = self._table.c
        query = select(c.type, c.queue, func.count()).where(c.claimable).group_by(c.type, c.queue)
        return {(row[0], row[1]): row[2] for row in connection.execute(query)}

    @staticmethod
    def _by_id(connection: Connection, query: Any) -> dict[Key, ExecutionRecord]:
        rows = connection.execute(query).mappings()
        return {row["id"]: ExecutionRecord.of(row) for row in rows}
