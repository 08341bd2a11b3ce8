"""Finds the classes, steps and jobs that ongoing workflows need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import CompoundSelect, Connection, Select, and_, exists, func, select, union
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ACTIVE_STEP_STATES, ENDED_WORKFLOW_STATES, StepState
from geneva_drive.storage.schema.conditions import is_done_execution
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables

# Selects the type, what is needed, and the workflow that needs it.
Needs = Select[tuple[str, str, Any]] | CompoundSelect[tuple[str, str, Any]]


@dataclass(frozen=True, slots=True)
class Needed:
    """How many workflows of a type need one class, step or job."""

    type: str
    name: str
    workflow_count: int


class Requirements:
    """Reads what ongoing workflows need, before new code is deployed."""

    def __init__(self, tables: Tables) -> None:
        self._is_done = is_done_execution(tables)
        self._workflows = tables.workflows
        self._executions = tables.step_executions
        self._nodes = tables.graph_nodes

    def count(self, connection: Connection, needs: Needs) -> list[Needed]:
        found = needs.subquery()
        kind, name, workflow_id = found.c
        query = (
            select(kind, name, func.count(workflow_id.distinct()))
            .group_by(kind, name)
            .order_by(kind, name)
        )
        return [Needed(*row) for row in connection.execute(query)]

    def examples(
        self, connection: Connection, needs: Needs, needed: Needed, limit: int
    ) -> Sequence[Key]:
        found = needs.subquery()
        kind, name, workflow_id = found.c
        query = (
            select(workflow_id)
            .where(kind == needed.type, name == needed.name)
            .distinct()
            .order_by(workflow_id)
            .limit(limit)
        )
        return connection.scalars(query).all()

    def classes(self) -> Needs:
        """Select the classes that are needed, by type; dynamic workflows have none."""
        w = self._workflows.c
        return select(w.type, w.type.label("name"), w.id).where(self._is_ongoing(), w.type != "")

    def steps(self, graph_types: Collection[str]) -> Needs:
        """Select the steps that workflows without a stored graph will run next or run now."""
        w, e = self._workflows.c, self._executions.c
        follows = and_(self._is_ongoing(), ~w.has_graph, w.type != "")
        next_step = select(w.type, w.next_step_name.label("name"), w.id).where(
            follows, w.next_step_name.is_not(None)
        )
        active = self._with_executions().where(follows, e.state.in_(ACTIVE_STEP_STATES))
        # A graph reruns its failed steps; a chain reruns its next step.
        failed = self._with_executions().where(
            follows, w.type.in_(graph_types), e.state == StepState.FAILED, self._is_latest()
        )
        return union(next_step, active, failed)

    def done_steps(self) -> Needs:
        """Select the steps that are done in workflows without a stored graph."""
        w = self._workflows.c
        follows = and_(self._is_ongoing(), ~w.has_graph, w.type != "")
        return self._with_executions().where(follows, self._is_done)

    def jobs(self) -> Needs:
        """Select the jobs of stored nodes that are not done."""
        n = self._nodes.c
        return self._undone_nodes(n.job).where(n.job.is_not(None))

    def children(self, connection: Connection, job: str) -> Iterator[tuple[str, str, Key]]:
        """Yield type, arguments and workflow of the stored nodes that call a job."""
        n = self._nodes.c
        for row in connection.execute(self._undone_nodes(n.args).where(n.job == job)):
            yield row[0], row[1], row[2]

    def methods(self) -> Needs:
        """Select the methods that stored nodes of classes call."""
        w, e, n = self._workflows.c, self._executions.c, self._nodes.c
        is_stored = and_(self._is_ongoing(), w.has_graph, w.type != "")
        # A step with partitions is recorded as done while its partitions run.
        return union(
            self._undone_nodes(n.name).where(n.job.is_(None), w.type != ""),
            self._with_executions()
            .join(self._nodes, and_(n.workflow_id == w.id, n.node_id == e.step_name))
            .where(is_stored, n.job.is_(None), e.state.in_(ACTIVE_STEP_STATES)),
        )

    def lost_nodes(self) -> Needs:
        """Select the done steps that the stored graph does not have."""
        w, e, n = self._workflows.c, self._executions.c, self._nodes.c
        is_there = (
            exists()
            .where(n.workflow_id == e.workflow_id, n.node_id == e.node_id)
            .correlate(self._executions)
        )
        return self._with_executions().where(
            self._is_ongoing(), w.has_graph, e.share.is_(None), self._is_done, ~is_there
        )

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
            .where(self._is_ongoing(), w.has_graph, ~is_done)
        )

    def _is_ongoing(self) -> ColumnElement[bool]:
        return self._workflows.c.state.not_in(ENDED_WORKFLOW_STATES)

    def _is_latest(self) -> ColumnElement[bool]:
        e, later = self._executions.c, self._executions.alias()
        return ~exists().where(
            later.c.workflow_id == e.workflow_id,
            later.c.node_id == e.node_id,
            later.c.attempt_number > e.attempt_number,
        )
