"""Statements on requests for approval.

Callers lock the workflow of the request before they write.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    Update,
    bindparam,
    func,
    insert,
    literal,
    select,
    true,
    update,
)
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ApprovalState
from geneva_drive.storage.dialects.kept_writes import KeptWrite, new_places, new_values
from geneva_drive.storage.schema.records import EXECUTION_COLUMNS, ExecutionRecord, Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord, PersonRecord
from geneva_drive.storage.statements.waits.deadlines import due_deadlines


@dataclass(frozen=True, slots=True)
class ApprovalFilter:
    """The wanted requests, in the order of ids; a field that is None excludes none."""

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
        self._close: Update | None = None  # an end always has the same columns

    def insert(self, connection: Connection, values: Mapping[str, Any]) -> Key:
        [row] = self._tables.keyed([values])
        result = connection.execute(insert(self._table), row)
        return result.inserted_primary_key[0] if result.inserted_primary_key else row["id"]

    def get(self, connection: Connection, approval_id: Key) -> ApprovalRecord | None:
        return self.get_many(connection, [approval_id]).get(approval_id)

    def get_many(self, connection: Connection, ids: Collection[Key]) -> dict[Key, ApprovalRecord]:
        rows = connection.execute(self._selected.where(self._table.c.id.in_(ids)))
        return {row["id"]: ApprovalRecord.of(row) for row in rows.mappings()}

    def with_execution(
        self, connection: Connection, approval_id: Key
    ) -> tuple[ApprovalRecord, ExecutionRecord, list[PersonRecord]] | None:
        """Return a request, the execution that asked, and its people in the order of votes."""
        rows = connection.execute(self._selected_with_execution, {"key": approval_id}).all()
        if not rows:
            return None
        end = len(ApprovalRecord.__slots__)
        people_at = end + len(EXECUTION_COLUMNS)
        first = rows[0]
        people = [PersonRecord.read(row[people_at:]) for row in rows if row[people_at] is not None]
        return ApprovalRecord.read(first[:end]), ExecutionRecord.read(first[end:people_at]), people

    @cached_property
    def _selected_with_execution(self) -> Select[Any]:
        c, e, p = self._table.c, self._tables.step_executions.c, self._tables.approval_people.c
        return (
            self._selected.add_columns(
                *(e[name] for name in EXECUTION_COLUMNS),
                *(p[name] for name in PersonRecord.__slots__),
            )
            .join(self._tables.step_executions, e.id == c.execution_id)
            .outerjoin(self._tables.approval_people, p.approval_id == c.id)
            .where(c.id == bindparam("key"))
            .order_by(p.voted_at, p.person)
        )

    @cached_property
    def _selected(self) -> Select[Any]:
        return select(*(self._table.c[name] for name in ApprovalRecord.__slots__))

    def update_pending(
        self, connection: Connection, values_by_id: Mapping[Key, Mapping[str, Any]]
    ) -> None:
        """Update pending requests of locked workflows; equal values share a statement."""
        groups: dict[tuple[tuple[str, Any], ...], list[Key]] = defaultdict(list)
        for key, values in values_by_id.items():
            groups[tuple(values.items())].append(key)
        c = self._table.c
        for columns, ids in groups.items():
            pending = update(self._table).where(
                c.id.in_(ids), c.state == ApprovalState.PENDING.value
            )
            count = connection.execute(pending.values(**dict(columns))).rowcount
            assert count == len(ids), "the workflows are locked, and these were read as pending"

    def closing(self, approval_id: Key, values: Mapping[str, Any]) -> KeptWrite:
        """Return the write that ends a request if it is still pending."""
        if self._close is None:
            c = self._table.c
            is_pending = c.state == ApprovalState.PENDING.value
            self._close = (
                update(self._table)
                .where(c.id == bindparam("key"), is_pending)
                .values(new_places(tuple(values)))
            )
        return KeptWrite(self._close, {"key": approval_id, **new_values(values)})

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
        return due_deadlines(connection, self._table, now, limit, passed_over)

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
            # As a literal: with a parameter, the partial index is not used.
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
