"""Statements on schedules.

Callers lock the schedule before `update`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, ScalarSelect, and_, exists, insert, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ENDED_WORKFLOW_STATES
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.schedule_records import ScheduleRecord, ScheduleRunRecord
from geneva_drive.storage.schema.tables import Tables


class Schedules:
    """The rows of `schedules`; they are few, so there is no index but the primary key."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._table = tables.schedules
        self._dialect = dialect

    def insert(self, connection: Connection, record: ScheduleRecord) -> None:
        connection.execute(insert(self._table), [asdict(record)])

    def get(self, connection: Connection, type_name: str) -> ScheduleRecord | None:
        query = select(self._table).where(self._table.c.type == type_name)
        row = connection.execute(query).mappings().first()
        return None if row is None else ScheduleRecord.of(dict(row))

    def lock(
        self, connection: Connection, type_name: str, *, skip_locked: bool = False
    ) -> ScheduleRecord | None:
        """Lock and read a schedule, before any workflow is locked."""
        query = select(self._table).where(self._table.c.type == type_name)
        locking = self._dialect.lock(query, skip_locked=skip_locked)
        row = connection.execute(locking).mappings().first()
        return None if row is None else ScheduleRecord.of(dict(row))

    def update(
        self, connection: Connection, former: ScheduleRecord, values: Mapping[str, Any]
    ) -> bool:
        """Update a schedule; False if another process has moved its next moment."""
        c = self._table.c
        same_next = c.next_at.is_(None) if former.next_at is None else c.next_at == former.next_at
        statement = update(self._table).where(c.type == former.type, same_next).values(**values)
        return connection.execute(statement).rowcount == 1

    def all(self, connection: Connection) -> list[tuple[ScheduleRecord, ScheduleRunRecord | None]]:
        """Return the schedules, sorted by type, each with the run that was recorded last."""
        schedules, runs = self._table, self._tables.schedule_runs
        is_last = and_(runs.c.type == schedules.c.type, runs.c.at == schedules.c.last_at)
        names = [column.name for column in schedules.c]
        query = (
            select(schedules, runs)
            .select_from(schedules.outerjoin(runs, is_last))
            .order_by(schedules.c.type)
        )
        found = []
        for row in connection.execute(query):
            own, last = row[: len(names)], row[len(names) :]
            run = None
            if last[0] is not None:
                of_run = zip((column.name for column in runs.c), last, strict=True)
                run = ScheduleRunRecord.of(dict(of_run))
            found.append((ScheduleRecord.of(dict(zip(names, own, strict=True))), run))
        return found

    def due(self, connection: Connection, types: Collection[str], now: datetime) -> Sequence[str]:
        """Return those of these schedules that are due or can start a queued run."""
        c = self._table.c
        is_due = and_(c.next_at.is_not(None), c.next_at <= now)
        query = select(c.type).where(c.type.in_(types), or_(is_due, self._may_start_queued()))
        return connection.scalars(query.order_by(c.next_at, c.type)).all()

    def next_moments(self, types: Collection[str]) -> list[ScalarSelect[Any]]:
        """Return queries for the next due moments of these schedules; past ones are due now."""
        c = self._table.c
        due = select(c.next_at).where(c.type.in_(types), c.next_at.is_not(None))
        queued = select(c.seen_at).where(c.type.in_(types), self._may_start_queued())
        return [
            due.order_by(c.next_at).limit(1).scalar_subquery(),
            queued.limit(1).scalar_subquery(),
        ]

    def _may_start_queued(self) -> ColumnElement[bool]:
        """True if a run is queued, and the workflow that it waits for has ended."""
        c, workflows = self._table.c, self._tables.workflows.c
        is_blocked = exists().where(
            workflows.id == c.last_workflow_id, workflows.state.not_in(ENDED_WORKFLOW_STATES)
        )
        return and_(c.queued_count > 0, c.paused_at.is_(None), ~is_blocked)
