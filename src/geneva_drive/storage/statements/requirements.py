"""Queries for the classes, steps and jobs that ongoing workflows need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import CompoundSelect, Connection, Select, and_, exists, func, select, union
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ACTIVE_STEP_STATES, ENDED_WORKFLOW_STATES, StepState
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.execution_conditions import is_done_execution
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables

# Each query selects a workflow's type, the name of the thing that it needs, and the workflow's id.
Needs = Sequence[Select[tuple[str, str, Any]]]


class Needed(NamedTuple):
    """A class, step or job that workflows of a type need."""

    type: str
    name: str


class Requirements:
    """Reads what ongoing workflows need, before new code is deployed."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._dialect = dialect
        self._is_done = is_done_execution(tables)
        self._workflows = tables.workflows
        self._executions = tables.step_executions
        self._nodes = tables.graph_nodes
        self._graphs = tables.graphs

    def names(self, connection: Connection, needs: Needs) -> list[Needed]:
        """Return the needed things, sorted; counting their workflows would take far longer."""
        found: set[Needed] = set()
        for part in needs:
            kind, name, _ = part.subquery().c
            found.update(Needed(*row) for row in connection.execute(select(kind, name).distinct()))
        return sorted(found)

    def count(self, connection: Connection, needs: Needs, needed: Needed) -> int:
        """Count the workflows that need one thing."""
        found = self._in_need(needs, needed).subquery()
        return connection.scalar(select(func.count()).select_from(found)) or 0

    def examples(
        self, connection: Connection, needs: Needs, needed: Needed, limit: int
    ) -> Sequence[Key]:
        [workflow_id] = self._in_need(needs, needed).subquery().c
        return connection.scalars(select(workflow_id).order_by(workflow_id).limit(limit)).all()

    def _in_need(self, needs: Needs, needed: Needed) -> CompoundSelect[Any] | Select[Any]:
        """Select each workflow that needs one thing, once."""
        parts = []
        for part in needs:
            kind, name, workflow_id = part.subquery().c
            matching = select(workflow_id).where(kind == needed.type, name == needed.name)
            parts.append(matching.distinct())
        return parts[0] if len(parts) == 1 else union(*parts)

    def classes(self) -> Needs:
        """Select the classes that are needed, by type; dynamic workflows have none."""
        w = self._workflows.c
        return [select(w.type, w.type.label("name"), w.id).where(self._is_ongoing(), w.type != "")]

    def steps(self, graph_types: Collection[str]) -> Needs:
        """Select the steps that workflows without a stored graph will run next or run now."""
        w, e = self._workflows.c, self._executions.c
        follows = and_(self._is_ongoing(), ~w.has_graph, w.type != "")
        next_step = select(w.type, w.next_step_name.label("name"), w.id).where(
            follows, w.next_step_name.is_not(None)
        )
        # A workflow with a next step has no other active node. So the query above covers a million
        # sleepers without their executions.
        active = self._with_executions().where(
            follows, w.next_step_name.is_(None), e.state.in_(ACTIVE_STEP_STATES)
        )
        # A graph reruns its failed steps; a chain reruns its next step.
        failed = self._with_executions().where(
            follows, w.type.in_(graph_types), e.state == StepState.FAILED, self._is_latest()
        )
        return [next_step, active, failed]

    def done_steps(self) -> Needs:
        """Select the steps that are done in workflows without a stored graph."""
        w = self._workflows.c
        follows = and_(self._is_ongoing(), ~w.has_graph, w.type != "")
        # A chain that is at its first step has no done steps; a graph names no next step.
        has_passed = w.next_step_name.is_(None) | w.previous_step_name.is_not(None)
        return [self._with_executions().where(follows, has_passed, self._is_done)]

    def jobs(self) -> Needs:
        """Select the jobs of stored nodes that are not done."""
        n = self._nodes.c
        return [self._undone_nodes(n.job).where(n.job.is_not(None))]

    def children(self, connection: Connection, job: str) -> Iterator[tuple[str, str, Key]]:
        """Yield type, arguments and workflow of the stored nodes that call a job."""
        n = self._nodes.c
        for row in connection.execute(self._undone_nodes(n.args).where(n.job == job)):
            yield row[0], row[1], row[2]

    def methods(self) -> Needs:
        """Select the methods that stored nodes of classes call."""
        w, e, n = self._workflows.c, self._executions.c, self._nodes.c
        # A step with partitions is recorded as done while its partitions run.
        return [
            self._undone_nodes(n.name).where(n.job.is_(None), w.type != ""),
            self._with_executions()
            .join(self._nodes, and_(n.workflow_id == w.id, n.node_id == e.step_name))
            .where(*self._is_stored(), w.type != "")
            .where(n.job.is_(None), e.state.in_(ACTIVE_STEP_STATES)),
        ]

    def lost_nodes(self) -> Needs:
        """Select the done steps that are missing in the stored graph."""
        e, n = self._executions.c, self._nodes.c
        is_there = (
            exists()
            .where(n.workflow_id == e.workflow_id, n.node_id == e.node_id)
            .correlate(self._executions)
        )
        lost = self._with_executions().where(
            *self._is_stored(), e.share.is_(None), self._is_done, ~is_there
        )
        return [lost]

    def _with_executions(self) -> Select[tuple[str, str, Any]]:
        w, e = self._workflows.c, self._executions.c
        return select(w.type, e.step_name.label("name"), w.id).join(
            self._executions, e.workflow_id == w.id
        )

    def _undone_nodes(self, needed: ColumnElement[Any]) -> Select[tuple[str, str, Any]]:
        w, n, e = self._workflows.c, self._nodes.c, self._executions.c
        is_done = (
            exists()
            .where(e.workflow_id == n.workflow_id, e.node_id == n.node_id, self._is_done)
            .correlate(self._nodes)
        )
        return (
            select(w.type, needed.label("name"), w.id)
            .join(self._nodes, n.workflow_id == w.id)
            .where(*self._is_stored(), ~is_done)
        )

    def _is_stored(self) -> list[ColumnElement[bool]]:
        """Return the conditions for an ongoing workflow with a stored graph."""
        w = self._workflows.c
        # Start from the graphs: there may be few of them, but a million ongoing workflows.
        is_ongoing = self._dialect.unindexed(w.state).not_in(ENDED_WORKFLOW_STATES)
        return [w.id.in_(select(self._graphs.c.workflow_id)), w.has_graph, is_ongoing]

    def _is_ongoing(self) -> ColumnElement[bool]:
        return self._workflows.c.state.not_in(ENDED_WORKFLOW_STATES)

    def _is_latest(self) -> ColumnElement[bool]:
        e, later = self._executions.c, self._executions.alias()
        return ~exists().where(
            later.c.workflow_id == e.workflow_id,
            later.c.node_id == e.node_id,
            later.c.attempt_number > e.attempt_number,
        )
