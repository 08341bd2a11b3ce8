"""Queries for the parent and the children of workflows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.schema.tables import Tables


class Families:
    """Parents and children: a child's row and the execution that started it refer to each other."""

    def __init__(self, tables: Tables) -> None:
        self._workflows = tables.workflows
        self._executions = tables.step_executions

    def parent(self, connection: Connection, parent_execution_id: Key) -> tuple[Key, str] | None:
        """Return the parent's id, and the node that started the child; None if it was pruned."""
        c = self._executions.c
        query = select(c.workflow_id, c.step_name).where(c.id == parent_execution_id)
        row = connection.execute(query).first()
        return None if row is None else (row[0], row[1])

    def child_ids(self, connection: Connection, workflow_id: Key) -> list[Key]:
        """Return the ids of the children that were not pruned, oldest first."""
        query = select(self._workflows.c.id).where(self._is_child(workflow_id))
        return list(connection.scalars(query.order_by(self._workflows.c.id)))

    def children(self, connection: Connection, workflow_id: Key) -> Sequence[WorkflowRecord]:
        """Return the children that were not pruned, oldest first."""
        query = select(self._workflows).where(self._is_child(workflow_id))
        rows = connection.execute(query.order_by(self._workflows.c.id))
        return [WorkflowRecord.of(row) for row in rows.mappings()]

    def _is_child(self, workflow_id: Key) -> ColumnElement[bool]:
        c = self._executions.c
        # A node with branches started several children, but refers to only one of them.
        started = select(c.id).where(c.workflow_id == workflow_id, c.child_id.is_not(None))
        return self._workflows.c.parent_execution_id.in_(started)
