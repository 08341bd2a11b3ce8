"""The query for the next moment at which the timers have to act."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, ScalarSelect, Select, Table, select

from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.timers.schedules import Schedules

Refused = Collection[Key]


class NextWakes:
    """Reads the earliest moment from all tables that have one."""

    def __init__(self, tables: Tables, schedules: Schedules) -> None:
        self._tables = tables
        self._schedules = schedules

    def earliest(
        self,
        connection: Connection,
        passed_over: Refused = (),
        passed_over_approvals: Refused = (),
        passed_over_events: Refused = (),
        schedules: Collection[str] = (),
    ) -> datetime | None:
        """Return when the next sleeper, limit, deadline or one of these schedules is due."""
        is_any_refused = bool(passed_over or passed_over_approvals or passed_over_events)
        asked = (
            self._selected(passed_over, passed_over_approvals, passed_over_events)
            if is_any_refused
            else self._of_all
        )
        if schedules:
            asked = asked.add_columns(*self._schedules.next_moments(schedules))
        moments = connection.execute(asked).one()
        return min((moment for moment in moments if moment is not None), default=None)

    @cached_property
    def _of_all(self) -> Select[Any]:
        return self._selected((), (), ())

    def _selected(self, executions: Refused, approvals: Refused, events: Refused) -> Select[Any]:
        """Select when the next sleeper wakes, and the next limit and deadlines are due."""
        tables = self._tables
        return select(
            _first(tables.step_executions, executions),
            _first(tables.limits),
            _first(tables.approvals, approvals),
            _first(tables.event_waits, events),
        )


def _first(table: Table, passed_over: Refused = ()) -> ScalarSelect[Any]:
    # No MIN(): MariaDB would read all rows.
    c = table.c
    query = select(c.wakes_at).where(c.wakes_at.is_not(None))
    if passed_over:
        query = query.where(c.id.not_in(passed_over))
    return query.order_by(c.wakes_at).limit(1).scalar_subquery()
