"""Statements on the dead letters: workflows that need a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, exists, func, insert, select, update

from geneva_drive.states import DeadLetterReason, WorkflowState
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables


class DeadLetters:
    """The rows of `dead_letters`, at most one pending per workflow."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.dead_letters

    def add(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add entries for locked workflows; an entry that is pending is updated instead."""
        c = self._table.c
        pending = self.pending_reasons(connection, [row["workflow_id"] for row in rows])
        missing = [row for row in rows if row["workflow_id"] not in pending]
        if missing:
            connection.execute(insert(self._table), self._tables.keyed(missing))
        renewed = [{**row, "held": row["workflow_id"]} for row in rows if row not in missing]
        if renewed:
            is_pending = (c.workflow_id == bindparam("held")) & (c.state == "pending")
            connection.execute(update(self._table).where(is_pending), renewed)

    def pending_reasons(
        self, connection: Connection, workflow_ids: Sequence[Key]
    ) -> dict[Key, str]:
        if not workflow_ids:
            return {}
        c = self._table.c
        query = select(c.workflow_id, c.reason).where(
            c.workflow_id.in_(workflow_ids), c.state == "pending"
        )
        return {row[0]: row[1] for row in connection.execute(query)}

    def long_paused(
        self, connection: Connection, before: datetime, limit: int, passed_over: Collection[Key]
    ) -> list[Key]:
        """Return workflows that are paused since before a moment, without an entry for it."""
        c, w = self._table.c, self._tables.workflows.c
        is_known = exists().where(
            c.workflow_id == w.id,
            (c.state == "pending")
            | ((c.reason == DeadLetterReason.RESUME_TIMEOUT) & (c.created_at >= w.paused_at)),
        )
        query = select(w.id).where(
            w.state == WorkflowState.PAUSED, w.paused_at <= before, ~is_known
        )
        if passed_over:
            query = query.where(w.id.not_in(passed_over))
        return list(connection.scalars(query.order_by(w.id).limit(limit)))

    def holding(self, connection: Connection) -> list[Key]:
        """Return the workflows that are paused at the step of their pending entry."""
        c, w = self._table.c, self._tables.workflows.c
        paused_at_step = func.coalesce(w.paused_step_name, w.next_step_name)
        query = (
            select(c.workflow_id)
            .join(self._tables.workflows, w.id == c.workflow_id)
            .where(c.state == "pending", w.state == WorkflowState.PAUSED)
            .where(c.step_name.is_(None) | (c.step_name == paused_at_step))
            .order_by(c.workflow_id)
        )
        return list(connection.scalars(query))
