"""Statements on dead letters: workflows that need an operator."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, case, exists, func, insert, select, update
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import DeadLetterReason, DeadLetterState, WorkflowState
from geneva_drive.storage.schema.records import DeadLetterRecord, Key
from geneva_drive.storage.schema.tables import Tables

_PENDING = DeadLetterState.PENDING.value


class DeadLetters:
    """The rows of `dead_letters`, at most one pending per workflow."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.dead_letters

    def add(self, connection: Connection, row: Mapping[str, Any]) -> None:
        """Add an entry for a locked workflow; an entry that is pending is updated instead."""
        c = self._table.c
        is_pending = (c.workflow_id == row["workflow_id"]) & (c.state == _PENDING)
        values = {**row, "notes": func.coalesce(row["notes"], c.notes)}
        renewed = connection.execute(update(self._table).where(is_pending).values(**values))
        if not renewed.rowcount:
            connection.execute(insert(self._table), self._tables.keyed([row]))

    def get(self, connection: Connection, entry_id: Key) -> DeadLetterRecord | None:
        query = select(self._table).where(self._table.c.id == entry_id)
        row = connection.execute(query).mappings().first()
        return None if row is None else read_dead_letter(row)

    def page(
        self, connection: Connection, state: DeadLetterState | None, limit: int | None
    ) -> list[DeadLetterRecord]:
        """Return entries by reason, the worst reasons first, then by age, the oldest first."""
        c = self._table.c
        ranks = {reason.value: rank for rank, reason in enumerate(DeadLetterReason)}
        worst = case(ranks, value=c.reason, else_=len(ranks))
        query = select(self._table).order_by(worst, c.created_at, c.id).limit(limit)
        if state is not None:
            query = query.where(c.state == state.value)
        return [read_dead_letter(row) for row in connection.execute(query).mappings()]

    def pending_of(self, connection: Connection, workflow_id: Key) -> DeadLetterRecord | None:
        c = self._table.c
        query = select(self._table).where(c.workflow_id == workflow_id, c.state == _PENDING)
        row = connection.execute(query).mappings().first()
        return None if row is None else read_dead_letter(row)

    def resolve(
        self,
        connection: Connection,
        entry_id: Key,
        *,
        now: datetime,
        actor: str,
        notes: str | None,
    ) -> bool:
        """Resolve an entry; False if it is no longer pending."""
        c = self._table.c
        values = {
            "state": DeadLetterState.RESOLVED.value,
            "resolved_at": now,
            "resolved_by": actor,
            # Without new notes, keep those of `add`.
            "notes": func.coalesce(notes, c.notes),
        }
        statement = update(self._table).where(c.id == entry_id, c.state == _PENDING)
        return connection.execute(statement.values(**values)).rowcount == 1

    def counts(self, connection: Connection) -> dict[tuple[DeadLetterState, DeadLetterReason], int]:
        """Count the entries by state and reason."""
        c = self._table.c
        query = select(c.state, c.reason, func.count()).group_by(c.state, c.reason)
        return {
            (DeadLetterState(row[0]), DeadLetterReason(row[1])): row[2]
            for row in connection.execute(query)
        }

    def count_pending(self, connection: Connection, most: int) -> int:
        """Count the pending entries, and stop at `most`."""
        pending = select(self._table.c.id).where(self._table.c.state == _PENDING).limit(most)
        return connection.scalar(select(func.count()).select_from(pending.subquery())) or 0

    def pending_reasons(
        self, connection: Connection, workflow_ids: Sequence[Key]
    ) -> dict[Key, str]:
        if not workflow_ids:
            return {}
        c = self._table.c
        query = select(c.workflow_id, c.reason).where(
            c.workflow_id.in_(workflow_ids), c.state == _PENDING
        )
        return {row[0]: row[1] for row in connection.execute(query)}

    def last_reported(
        self, connection: Connection, workflow_ids: Sequence[Key], reason: DeadLetterReason
    ) -> dict[Key, datetime]:
        """Return when each of these workflows was last reported for this reason."""
        c = self._table.c
        query = (
            select(c.workflow_id, func.max(c.created_at))
            .where(c.workflow_id.in_(workflow_ids), c.reason == reason)
            .group_by(c.workflow_id)
        )
        return {row[0]: row[1] for row in connection.execute(query)}

    def is_pending(self) -> ColumnElement[bool]:
        """Return the condition that a workflow has a pending entry."""
        c = self._table.c
        return exists().where(c.workflow_id == self._tables.workflows.c.id, c.state == _PENDING)

    def is_known(self, reason: DeadLetterReason, *since: ColumnElement[Any]) -> ColumnElement[bool]:
        """Return the condition that a workflow has an entry, pending or for this reason.

        Entries for the reason count from the latest of the moments `since` on. An operator may have
        resolved such an entry, and need not be notified again.
        """
        c, w = self._table.c, self._tables.workflows.c
        is_told = [c.reason == reason, *(c.created_at >= moment for moment in since)]
        return exists().where(c.workflow_id == w.id, (c.state == _PENDING) | and_(*is_told))

    def long_paused(
        self, connection: Connection, before: datetime, limit: int, passed_over: Collection[Key]
    ) -> list[Key]:
        """Return workflows that were paused before a moment, without an entry for this pause."""
        w = self._tables.workflows.c
        is_known = self.is_known(DeadLetterReason.RESUME_TIMEOUT, w.paused_at)
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
            .where(c.state == _PENDING, w.state == WorkflowState.PAUSED)
            .where(c.step_name.is_(None) | (c.step_name == paused_at_step))
            .order_by(c.workflow_id)
        )
        return list(connection.scalars(query))


def read_dead_letter(row: RowMapping) -> DeadLetterRecord:
    fields = {name: row[name] for name in DeadLetterRecord.__slots__}
    # Entries of earlier versions have no snapshot.
    snapshot = json.loads(row["snapshot"]) if row["snapshot"] else {}
    return DeadLetterRecord(
        **{
            **fields,
            "reason": DeadLetterReason(row["reason"]),
            "state": DeadLetterState(row["state"]),
            "snapshot": snapshot,
        }
    )
