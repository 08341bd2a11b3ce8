"""Queries for the attempts at each node of a workflow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, case, exists, func, select
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ACTIVE_STEP_STATES, UNDONE_STEP_STATES, StepState
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.execution_conditions import is_done_execution, is_worker_execution
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.records import EXECUTION_COLUMNS, ExecutionRecord, Key, NodeKey
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.statement_portions import NODES, portions

_MOST_URGENT = (StepState.FAILED, StepState.IN_PROGRESS, StepState.WAITING, StepState.SUSPENDED)


class UnfinishedNode(NamedTuple):
    """The latest attempt at a node that is not done, without its result and error."""

    execution_id: Key
    node_id: str
    step_name: str
    state: StepState


def insertion_order(tables: Tables) -> list[ColumnElement[Any]]:
    """Return the ORDER BY columns for the order in which a workflow's executions were inserted."""
    c = tables.step_executions.c
    if tables.key_type is KeyType.UUID:
        # Clients make the ids, and their clocks may differ by a millisecond.
        return [c.created_at, c.id]
    return [c.id]


class Attempts:
    """The rows of `step_executions` as attempts; a node may have several."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._table = tables.step_executions
        self._dialect = dialect

    def last_numbers(self, connection: Connection, nodes: Sequence[NodeKey]) -> dict[NodeKey, int]:
        """Return the highest attempt number of each node that has one."""
        c = self._table.c
        found: dict[NodeKey, int] = {}
        for portion in portions(nodes, NODES):
            query = (
                select(c.workflow_id, c.node_id, func.max(c.attempt_number))
                .where(self._dialect.among_nodes(self._table, portion))
                .group_by(c.workflow_id, c.node_id)
            )
            found.update({(row[0], row[1]): row[2] for row in connection.execute(query)})
        return found

    def latest(self, connection: Connection, nodes: Sequence[NodeKey]) -> list[ExecutionRecord]:
        """Return the latest attempt at each node."""
        c = self._table.c
        found: dict[NodeKey, ExecutionRecord] = {}
        for portion in portions(nodes, NODES):
            query = (
                self._select()
                .where(self._dialect.among_nodes(self._table, portion))
                .order_by(c.attempt_number, c.id)
            )
            records = self._read(connection, query)
            found.update({(one.workflow_id, one.node_id): one for one in records})
        return sorted(found.values(), key=lambda one: one.id)

    def latest_of(self, connection: Connection, workflow_id: Key) -> list[ExecutionRecord]:
        """Return the latest attempt at each node of a workflow, except for workers.

        A batch may have thousands of workers, and its expansion counts them.
        """
        rows = connection.execute(self._latest_of, {"of_workflow": workflow_id})
        return [ExecutionRecord.read(row) for row in rows]

    @cached_property
    def _latest_of(self) -> Select[Any]:
        c = self._table.c
        is_meant = (c.workflow_id == bindparam("of_workflow")) & ~is_worker_execution(self._tables)
        numbers = (
            select(c.node_id, func.max(c.attempt_number).label("attempt_number"))
            .where(is_meant)
            .group_by(c.node_id)
            .subquery()
        )
        is_latest = (c.node_id == numbers.c.node_id) & (
            c.attempt_number == numbers.c.attempt_number
        )
        return self._select().join(numbers, is_latest).where(is_meant)

    def of_node(
        self, connection: Connection, workflow_id: Key, node_id: str, limit: int
    ) -> list[ExecutionRecord]:
        """Return the latest attempts at one node, newest first."""
        c = self._table.c
        query = (
            self._select()
            .where(c.workflow_id == workflow_id, c.node_id == node_id)
            .order_by(c.attempt_number.desc())
            .limit(limit)
        )
        return self._read(connection, query)

    def latest_of_each(
        self, connection: Connection, workflow_ids: Sequence[Key]
    ) -> list[ExecutionRecord]:
        """Return the latest attempt at each node of several workflows, except for workers."""
        if not workflow_ids:
            return []
        c = self._table.c
        query = self._select().where(
            self._dialect.among(c.workflow_id, workflow_ids),
            ~is_worker_execution(self._tables),
            self._is_last(),
        )
        return self._read(connection, query.order_by(c.id))

    def before(self, connection: Connection, execution: ExecutionRecord) -> ExecutionRecord | None:
        """Return the attempt before this one at the same node."""
        c = self._table.c
        query = self._select().where(
            c.workflow_id == execution.workflow_id,
            c.node_id == execution.node_id,
            c.attempt_number == execution.attempt_number - 1,
        )
        return next(iter(self._read(connection, query)), None)

    def undone(self, connection: Connection, workflow_id: Key) -> list[ExecutionRecord]:
        """Return the latest attempts that failed or were canceled."""
        c = self._table.c
        query = (
            self._select()
            .where(c.workflow_id == workflow_id, c.state.in_(UNDONE_STEP_STATES), self._is_last())
            .order_by(*insertion_order(self._tables))
        )
        return self._read(connection, query)

    def requeued_workers(self, connection: Connection, workflow_id: Key) -> list[ExecutionRecord]:
        """Return the further attempts of workers that wait for their turn."""
        c = self._table.c
        query = (
            self._select()
            .where(
                c.workflow_id == workflow_id,
                c.state == StepState.PENDING,
                c.attempt_number > 1,
                is_worker_execution(self._tables),
            )
            .order_by(*insertion_order(self._tables))
        )
        return self._read(connection, query)

    def undone_workers(self, connection: Connection, workflow_id: Key) -> list[ExecutionRecord]:
        """Return the latest attempts of workers that failed or were canceled."""
        c = self._table.c
        query = (
            self._select()
            .where(
                c.workflow_id == workflow_id,
                c.state.in_(UNDONE_STEP_STATES),
                is_worker_execution(self._tables),
                self._is_last(),
            )
            .order_by(*insertion_order(self._tables))
        )
        return self._read(connection, query)

    def unfinished(
        self, connection: Connection, workflow_id: Key, limit: int
    ) -> list[UnfinishedNode]:
        """Return nodes whose latest attempt is not done: failed and running ones first.

        The query reads a workflow's attempts by their index, and few of their columns.
        """
        c = self._table.c
        urgency = case(
            {state: rank for rank, state in enumerate(_MOST_URGENT)}, value=c.state, else_=99
        )
        # An active attempt is always the last one of its node.
        is_undone = c.state.in_(UNDONE_STEP_STATES) & self._is_last()
        query = (
            select(c.id, c.node_id, c.step_name, c.state)
            .where(c.workflow_id == workflow_id, c.state.in_(ACTIVE_STEP_STATES) | is_undone)
            .order_by(urgency, *insertion_order(self._tables))
            .limit(limit)
        )
        rows = connection.execute(query)
        return [UnfinishedNode(row[0], row[1], row[2], StepState(row[3])) for row in rows]

    def _is_last(self) -> ColumnElement[bool]:
        c, later = self._table.c, self._table.alias()
        return ~exists().where(
            later.c.workflow_id == c.workflow_id,
            later.c.node_id == c.node_id,
            later.c.attempt_number > c.attempt_number,
        )

    def done_among(
        self, connection: Connection, workflow_id: Key, node_ids: Iterable[str]
    ) -> list[str]:
        """Return which of the nodes are done."""
        c = self._table.c
        is_done = is_done_execution(self._tables)
        found: list[str] = []
        for portion in portions(node_ids):
            query = select(c.node_id).where(
                c.workflow_id == workflow_id, c.node_id.in_(portion), is_done
            )
            found += connection.scalars(query)
        return found

    def ancestry_hashes(
        self, connection: Connection, nodes: Iterable[NodeKey]
    ) -> dict[NodeKey, str | None]:
        """Return the ancestry hash of the latest done attempt at each node."""
        columns, is_done = self._hashes_of_done
        found: dict[NodeKey, str | None] = {}
        for portion in portions(nodes, NODES):
            rows = self._dialect.read_nodes(connection, self._table, portion, columns, is_done)
            for _, workflow_id, node_id, ancestry_hash in sorted(rows, key=itemgetter(0)):
                found[workflow_id, node_id] = ancestry_hash
        return found

    @cached_property
    def _hashes_of_done(self) -> tuple[Sequence[ColumnElement[Any]], ColumnElement[bool]]:
        c = self._table.c
        columns = [c.attempt_number, c.workflow_id, c.node_id, c.ancestry_hash]
        return columns, is_done_execution(self._tables)

    def _select(self) -> Select[Any]:
        return select(*(self._table.c[name] for name in EXECUTION_COLUMNS))

    @staticmethod
    def _read(connection: Connection, query: Select[Any]) -> list[ExecutionRecord]:
        # Fetching all rows together takes half the time.
        return [ExecutionRecord.read(row) for row in connection.execute(query).all()]
