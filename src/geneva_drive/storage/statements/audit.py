"""Statements on the audit trail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.dialects.kept_writes import KeptWrite, insertion
from geneva_drive.storage.schema.records import AuditRecord, Key
from geneva_drive.storage.schema.tables import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An act on a schedule, a document, an event or many workflows."""

    command: str
    actor: str | None
    reason: str | None
    subject: str | None = None  # a schedule's type, a document's name, an event's number
    workflow_id: Key | None = None  # the workflow that the act started


class AuditEntries:
    """The rows of `audit_entries`, which are never changed."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._dialect = dialect
        self._table = tables.audit_entries

    def append(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        if not rows:
            return
        self._dialect.insert_many(connection, self._table, self._tables.keyed(rows))

    def appending(self, row: Mapping[str, Any]) -> KeptWrite:
        """Return the write that appends one row."""
        [keyed] = self._tables.keyed([row])
        return insertion(self._table, keyed)

    def append_act(self, connection: Connection, act: Act, at: datetime) -> None:
        """Append an act that is not a command on a workflow."""
        values = {name: getattr(act, name) for name in act.__slots__}
        self.append(connection, [{**values, "at": at}])

    def delete_acts(self, connection: Connection, before: datetime, limit: int) -> int:
        """Delete old entries without a workflow; others are deleted with their workflow."""
        c = self._table.c
        old = select(c.id).where(c.workflow_id.is_(None), c.at < before)
        ids = connection.scalars(old.order_by(c.at).limit(limit)).all()
        if ids:
            connection.execute(delete(self._table).where(c.id.in_(ids)))
        return len(ids)

    def of_workflow(self, connection: Connection, workflow_id: Key) -> list[AuditRecord]:
        c = self._table.c
        return self._read(connection, c.workflow_id == workflow_id)

    def of_approval(
        self, connection: Connection, workflow_id: Key, approval_id: Key
    ) -> list[AuditRecord]:
        c = self._table.c
        return self._read(connection, c.workflow_id == workflow_id, c.approval_id == approval_id)

    def _read(self, connection: Connection, *conditions: ColumnElement[bool]) -> list[AuditRecord]:
        c = self._table.c
        query = select(c.command, c.actor, c.reason, c.at, c.approval_id).where(*conditions)
        rows = connection.execute(query.order_by(c.at, c.id))
        return [AuditRecord(**row) for row in rows.mappings()]
