"""Statements on requests to resume."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from geneva_drive.states import ResumeTrigger
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.dialects.kept_writes import KeptWrite, insertion
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.schema.waits.approval_records import ResumeRequestRecord


class ResumeRequests:
    """The rows of `resume_requests`; each is executed once, or ends with an error."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._dialect = dialect
        self._table = tables.resume_requests

    def append(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            self._dialect.insert_many(connection, self._table, self._tables.keyed(rows))

    def appending(self, row: Mapping[str, Any]) -> KeptWrite:
        """Return the write that appends one row."""
        [keyed] = self._tables.keyed([row])
        return insertion(self._table, keyed)

    def execute(self, connection: Connection, workflow_id: Key, now: datetime) -> None:
        """Mark a workflow's open requests as executed, because it continues."""
        c = self._table.c
        is_open = (c.workflow_id == workflow_id) & c.executed_at.is_(None) & c.error.is_(None)
        connection.execute(update(self._table).where(is_open).values(executed_at=now))

    def fail(
        self,
        connection: Connection,
        workflow_ids: Collection[Key],
        trigger_ids: Collection[str],
        error: str,
        *,
        triggers: Sequence[ResumeTrigger] = (ResumeTrigger.APPROVAL, ResumeTrigger.TIMEOUT),
    ) -> None:
        """Mark requests as failed, because their nodes were canceled or skipped."""
        c = self._table.c
        statement = update(self._table).where(
            c.workflow_id.in_(workflow_ids),
            c.kind.in_([one.value for one in triggers]),
            c.trigger_id.in_(trigger_ids),
            c.executed_at.is_(None),
            c.error.is_(None),
        )
        connection.execute(statement.values(error=error))

    def of_workflow(self, connection: Connection, workflow_id: Key) -> list[ResumeRequestRecord]:
        c = self._table.c
        query = select(self._table).where(c.workflow_id == workflow_id).order_by(c.id)
        return [
            ResumeRequestRecord(
                trigger=ResumeTrigger(row["kind"]),
                trigger_id=row["trigger_id"],
                actor=row["actor"],
                stored_data=row["data"],
                requested_at=row["requested_at"],
                executed_at=row["executed_at"],
                error=row["error"],
            )
            for row in connection.execute(query).mappings()
        ]
