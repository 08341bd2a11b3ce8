"""Queries that read many rows for display, and only the displayed columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import Connection, and_, case, func, or_, select
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import Outcome, StepState
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.execution_conditions import is_active_execution, is_done_execution
from geneva_drive.storage.schema.records import ActiveCount, ExecutionRecord, Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.statement_portions import portions


class NodeShape(NamedTuple):  # a tuple: a large graph has 100,000
    """A stored node without its arguments."""

    node_id: str
    name: str
    job: str | None
    depends_on: str  # ids as JSON
    scheduling: str | None  # its stored options as JSON


class NodesAlike(NamedTuple):
    """The nodes whose first attempts are in one state, with one outcome, begun or not."""

    state: StepState
    outcome: Outcome | None
    number: int
    started_at: datetime | None  # the first of them

    @property
    def attempt(self) -> NodeAttempt:
        """The attempt that stands for all of them."""
        return NodeAttempt(self.state, self.outcome, 1, None, self.started_at, None)


class NodeAttempt(NamedTuple):
    """The latest attempt at a node, without results and errors."""

    state: StepState
    outcome: Outcome | None
    attempt_number: int
    scheduled_for: datetime | None
    started_at: datetime | None
    finished_at: datetime | None


_STATES = {state.value: state for state in StepState}
_OUTCOMES: dict[str | None, Outcome | None] = {None: None, **{one.value: one for one in Outcome}}

CANCELING = (
    Outcome.CANCELED_BY_FLOW_CONTROL,
    Outcome.CANCELED_BY_CONDITION,
    Outcome.CANCELED_BY_EXCEPTION,
)
REJECTING = (Outcome.REJECTED, Outcome.EXPIRED, Outcome.TIMED_OUT)


class Overviews:
    """Reads several tables for display."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._dialect = dialect
        self._workflows = tables.workflows
        self._executions = tables.step_executions
        self._nodes = tables.graph_nodes

    def shapes(self, connection: Connection, workflow_id: Key) -> list[NodeShape]:
        """Return the nodes of a stored graph, in order."""
        c = self._nodes.c
        query = (
            select(c.node_id, c.name, c.job, c.depends_on, c.scheduling)
            .where(c.workflow_id == workflow_id)
            .order_by(c.position)
        )
        return [NodeShape(*row) for row in connection.execute(query).all()]

    def latest_attempts(
        self, connection: Connection, workflow_id: Key, among: Sequence[str] | None = None
    ) -> dict[str, NodeAttempt]:
        """Return the latest attempt at each node, or at these nodes, by node id."""
        c = self._executions.c
        if among is None:
            return self._latest(connection, self._of(workflow_id))
        is_own = c.workflow_id == workflow_id
        found: dict[str, NodeAttempt] = {}
        for portion in portions(among):
            found |= self._latest(connection, is_own, c.node_id.in_(portion))
        return found

    def _latest(
        self, connection: Connection, *where: ColumnElement[bool]
    ) -> dict[str, NodeAttempt]:
        c = self._executions.c
        query = select(
            *(c.node_id, c.attempt_number, c.state, c.outcome),
            *(c.scheduled_for, c.started_at, c.finished_at),
        ).where(*where)
        # Nearly all are first attempts: sorting them here is ten times faster than in the database.
        rows = sorted(connection.execute(query).all(), key=itemgetter(1))
        return {
            key: NodeAttempt(_STATES[state], _OUTCOMES[outcome], number, due, started, finished)
            for key, number, state, outcome, due, started, finished in rows
        }

    def first_states(self, connection: Connection, workflow_id: Key) -> list[NodesAlike]:
        """Count the nodes by the state of their first attempts, the most frequent one first."""
        c = self._executions.c
        query = (
            select(c.state, c.outcome, func.count(), func.min(c.started_at))
            .where(self._of(workflow_id, c.attempt_number == 1))
            .group_by(c.state, c.outcome, c.started_at.is_(None))
        )
        found = [
            NodesAlike(_STATES[state], _OUTCOMES[outcome], number, started_at)
            for state, outcome, number, started_at in connection.execute(query)
        ]
        return sorted(found, key=lambda one: -one.number)

    def nodes_in_states(
        self, connection: Connection, workflow_id: Key, among: Sequence[NodesAlike]
    ) -> dict[str, NodeAttempt]:
        """Return the attempt that stands for each node whose first attempt is in these states."""
        c = self._executions.c
        is_begun = c.started_at.is_not(None)
        attempts = {(one.state, one.outcome, bool(one.started_at)): one.attempt for one in among}
        wanted = [
            and_(c.state == state, c.outcome.is_not_distinct_from(outcome), is_begun == begun)
            for state, outcome, begun in attempts
        ]
        query = select(c.node_id, c.state, c.outcome, is_begun).where(
            self._of(workflow_id, c.attempt_number == 1), or_(*wanted)
        )
        rows = connection.execute(query).all() if wanted else ()
        return {key: attempts[state, outcome, bool(begun)] for key, state, outcome, begun in rows}

    def later_attempts(self, connection: Connection, workflow_id: Key) -> dict[str, NodeAttempt]:
        """Return the latest attempt at each node that has several."""
        c = self._executions.c
        return self._latest(connection, self._of(workflow_id, c.attempt_number > 1))

    def _of(self, workflow_id: Key, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
        return self._dialect.of_workflow(self._executions, workflow_id, *conditions)

    def done_since(
        self, connection: Connection, workflow_id: Key, since: datetime | None
    ) -> list[tuple[str, datetime | None]]:
        """Return the done nodes that ended from `since` on, each with its end."""
        c = self._executions.c
        is_done = is_done_execution(self._tables)
        query = select(c.node_id, c.finished_at).where(c.workflow_id == workflow_id, is_done)
        if since is not None:
            query = query.where(c.finished_at >= since)
        return [(row[0], row[1]) for row in connection.execute(query)]

    def oldest_active(
        self, connection: Connection, workflow_id: Key, each: int
    ) -> list[ExecutionRecord]:
        """Return up to `each` oldest executions in each active state."""
        c = self._executions.c
        turn = func.row_number().over(partition_by=c.state, order_by=c.id).label("turn")
        # Sort only the ids: there may be 100,000 wide rows.
        numbered = (
            select(c.id, turn)
            .where(self._of(workflow_id, is_active_execution(self._tables)))
            .subquery()
        )
        ids = list(connection.scalars(select(numbered.c.id).where(numbered.c.turn <= each)))
        query = select(self._executions).where(c.id.in_(ids)).order_by(c.id)
        return [ExecutionRecord.of(row) for row in connection.execute(query).mappings()]

    def handed_over(self, connection: Connection, ids: Sequence[Key]) -> str | None:
        """Return the step of one of these executions that a worker left to workers with other code.

        It wakes later than it is due, unlike other sleepers.
        """
        c = self._executions.c
        query = select(c.step_name).where(c.id.in_(ids), c.wakes_at > c.scheduled_for)
        return connection.scalar(query.order_by(c.id).limit(1))

    def canceling(
        self, connection: Connection, workflow_id: Key, canceled_at: datetime | None
    ) -> ExecutionRecord | None:
        """Return the execution that canceled its workflow, if one did."""
        c = self._executions.c
        # A rejection canceled the workflow only if both ended at the same moment; after other
        # rejections the workflow continued.
        is_rejection = c.outcome.in_(REJECTING) & (c.finished_at == canceled_at)
        query = (
            select(self._executions)
            .where(c.workflow_id == workflow_id, c.outcome.in_(CANCELING) | is_rejection)
            # Other active executions ended together with it, with the same outcome or by flow
            # control.
            .order_by(
                c.error_class.is_(None),
                c.outcome.not_in(REJECTING),
                c.started_at.is_(None),
                c.id,
            )
            .limit(1)
        )
        row = connection.execute(query).mappings().first()
        return None if row is None else ExecutionRecord.of(row)

    def count_active(
        self, connection: Connection, workflow_id: Key, now: datetime
    ) -> list[ActiveCount]:
        """Count a workflow's active executions by state, and by whether they are due."""
        c = self._executions.c
        is_later = case((c.scheduled_for > now, 1), else_=0).label("is_later")
        query = (
            select(c.state, is_later, func.count(), func.min(c.scheduled_for))
            .where(self._of(workflow_id, is_active_execution(self._tables)))
            .group_by(c.state, is_later)
        )
        return [
            ActiveCount(StepState(state), bool(later), count, first_at)
            for state, later, count, first_at in connection.execute(query)
        ]
