"""Statements on the runs of schedules.

Callers lock the schedule before they write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, exists, insert, select, tuple_, update

from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.schedule_records import ScheduleRunRecord
from geneva_drive.storage.schema.tables import Tables

RunKey = tuple[str, datetime]  # the type and the moment


class ScheduleRuns:
    """The rows of `schedule_runs`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.schedule_runs

    def insert(self, connection: Connection, runs: Sequence[ScheduleRunRecord]) -> None:
        if runs:
            connection.execute(insert(self._table), [asdict(run) for run in runs])

    def get(self, connection: Connection, type_name: str, at: datetime) -> ScheduleRunRecord | None:
        c = self._table.c
        query = select(self._table).where(c.type == type_name, c.at == at)
        row = connection.execute(query).mappings().first()
        return None if row is None else ScheduleRunRecord.of(dict(row))

    def oldest_queued(self, connection: Connection, type_name: str) -> ScheduleRunRecord | None:
        c = self._table.c
        query = select(self._table).where(c.type == type_name, c.queued_at.is_not(None))
        query = query.order_by(c.queued_at, c.at).limit(1)
        row = connection.execute(query).mappings().first()
        return None if row is None else ScheduleRunRecord.of(dict(row))

    def update_queued(
        self, connection: Connection, run: ScheduleRunRecord, values: Mapping[str, Any]
    ) -> bool:
        """Update a queued run; False if it is no longer queued."""
        c = self._table.c
        is_queued = c.queued_at.is_not(None)
        statement = update(self._table).where(c.type == run.type, c.at == run.at, is_queued)
        return connection.execute(statement.values(**values)).rowcount == 1

    def page(
        self, connection: Connection, type_name: str, limit: int | None
    ) -> list[ScheduleRunRecord]:
        """Return the runs of a schedule, the newest first."""
        c = self._table.c
        query = select(self._table).where(c.type == type_name).order_by(c.at.desc()).limit(limit)
        rows = connection.execute(query).mappings()
        return [ScheduleRunRecord.of(dict(row)) for row in rows]

    def moment_of(self, connection: Connection, workflow_id: Key) -> datetime | None:
        """Return the moment of the run that started a workflow."""
        c = self._table.c
        return connection.scalar(select(c.at).where(c.workflow_id == workflow_id))

    def old(self, connection: Connection, before: datetime, limit: int) -> list[RunKey]:
        """Return runs from before a moment that have no workflow, or whose workflow was deleted."""
        c, workflows = self._table.c, self._tables.workflows.c
        is_kept = exists().where(workflows.id == c.workflow_id)
        is_old = [c.at < before, c.queued_at.is_(None), ~is_kept]
        query = select(c.type, c.at).where(*is_old).order_by(c.at).limit(limit)
        return [(row[0], row[1]) for row in connection.execute(query)]

    def delete(self, connection: Connection, keys: Sequence[RunKey]) -> int:
        c = self._table.c
        statement = delete(self._table).where(tuple_(c.type, c.at).in_(keys))
        return connection.execute(statement).rowcount
