"""Statements on requests for approval.

The caller of each write has locked the workflow of the request.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Select, func, insert, literal, select, true, update
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ApprovalState
from geneva_drive.storage.schema.approval_records import ApprovalRecord
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables


@dataclass(frozen=True, slots=True)
class ApprovalFilter:
    """Which requests are wanted, by id; a field that is None leaves all of them."""

    state: ApprovalState | None = None
    role: str | None = None
    person: str | None = None  # named, or delegated to
    workflow_id: Key | None = None
    after: Key | None = None


class Approvals:
    """The rows of `approvals`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.approvals

    def insert(self, connection: Connection, values: Mapping[str, Any]) -> Key:
        [row] = self._tables.keyed([values])
        result = connection.execute(insert(self._table), row)
        return result.inserted_primary_key[0] if result.inserted_primary_key else row["id"]

    def get(self, connection: Connection, approval_id: Key) -> ApprovalRecord | None:
        return self.get_many(connection, [approval_id]).get(approval_id)

    def get_many(self, connection: Connection, ids: Collection[Key]) -> dict[Key, ApprovalRecord]:
        rows = connection.execute(self._selected.where(self._table.c.id.in_(ids)))
        return {row["id"]: ApprovalRecord.of(row) for row in rows.mappings()}

    @cached_property
    def _selected(self) -> Select[Any]:
        return select(*(self._table.c[name] for name in ApprovalRecord.__slots__))

    def update_pending(
        self, connection: Connection, ids: Collection[Key], values: Mapping[str, Any]
    ) -> int:
        """Update the requests that are still pending, and count them."""
        c = self._table.c
        statement = update(self._table).where(c.id.in_(ids), c.state == ApprovalState.PENDING.value)
        return connection.execute(statement.values(**values)).rowcount

    def cancel(self, connection: Connection, ids: Collection[Key], now: datetime) -> int:
        """Cancel the pending requests among these; return how many."""
        c = self._table.c
        is_pending = c.state == ApprovalState.PENDING.value
        values = {"state": ApprovalState.CANCELED.value, "wakes_at": None, "decided_at": now}
        statement = update(self._table).where(c.id.in_(ids), is_pending).values(**values)
        return connection.execute(statement).rowcount

    def due(
        self, connection: Connection, now: datetime, limit: int, passed_over: Collection[Key] = ()
    ) -> list[tuple[Key, Key]]:
        """Return up to `limit` requests past their deadline, each with its workflow's id."""
        c = self._table.c
        query = select(c.id, c.workflow_id).where(c.wakes_at.is_not(None), c.wakes_at <= now)
        if passed_over:
            query = query.where(c.id.not_in(passed_over))
        rows = connection.execute(query.order_by(c.wakes_at).limit(limit))
        return [(row[0], row[1]) for row in rows]

    def page(
        self, connection: Connection, *, wanted: ApprovalFilter, limit: int | None
    ) -> list[ApprovalRecord]:
        c = self._table.c
        query = self._selected.where(*self._conditions(wanted)).order_by(c.id).limit(limit)
        return [ApprovalRecord.of(row) for row in connection.execute(query).mappings()]

    def count(self, connection: Connection, wanted: ApprovalFilter) -> int:
        query = select(func.count()).select_from(self._table).where(*self._conditions(wanted))
        return connection.scalar(query) or 0

    def _conditions(self, wanted: ApprovalFilter) -> Sequence[ColumnElement[bool]]:
        c, people = self._table.c, self._tables.approval_people.c
        conditions: list[ColumnElement[bool]] = []
        if wanted.state is not None:
            # As a literal: a partial index is not used for a parameter.
            conditions.append(c.state == literal(wanted.state.value, literal_execute=True))
        if wanted.role is not None:
            conditions.append(c.role == wanted.role)
        if wanted.workflow_id is not None:
            conditions.append(c.workflow_id == wanted.workflow_id)
        if wanted.person is not None:
            named = select(people.approval_id).where(
                people.person == wanted.person, people.is_assigned == true()
            )
            conditions.append(c.id.in_(named))
        if wanted.after is not None:
            conditions.append(c.id > wanted.after)
        return conditions
