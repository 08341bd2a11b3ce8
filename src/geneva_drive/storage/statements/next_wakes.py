"""The one statement by which timers learn when they have to act next."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Column, Connection, Select, select

from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.schedules import Schedules


class NextWakes:
    """Reads the earliest moment from all tables that have one."""

    def __init__(self, tables: Tables, schedules: Schedules) -> None:
        self._tables = tables
        self._schedules = schedules

    def earliest(
        self,
        connection: Connection,
        passed_over: Collection[Key] = (),
        passed_over_approvals: Collection[Key] = (),
        schedules: Collection[str] = (),
    ) -> datetime | None:
        """Return when the next sleeper, limit, approval or one of these schedules is due."""
        asked = (
            self._selected(passed_over, passed_over_approvals)
            if passed_over or passed_over_approvals
            else self._of_all
        )
        if schedules:
            asked = asked.add_columns(*self._schedules.next_moments(schedules))
        moments = connection.execute(asked).one()
        return min((moment for moment in moments if moment is not None), default=None)

    @cached_property
    def _of_all(self) -> Select[Any]:
        return self._selected((), ())

    def _selected(
        self, passed_over: Collection[Key], passed_over_approvals: Collection[Key]
    ) -> Select[Any]:
        """Select when the next sleeper wakes, and the next limit and approval are due."""
        sleepers, limits = self._tables.step_executions.c, self._tables.limits.c
        approvals = self._tables.approvals.c
        # Not MIN(): MariaDB would read all rows.
        next_sleeper = select(sleepers.wakes_at).where(sleepers.wakes_at.is_not(None))
        next_sleeper = _without(next_sleeper, sleepers.id, passed_over)
        next_limit = select(limits.wakes_at).where(limits.wakes_at.is_not(None))
        next_deadline = select(approvals.wakes_at).where(approvals.wakes_at.is_not(None))
        next_deadline = _without(next_deadline, approvals.id, passed_over_approvals)
        return select(
            next_sleeper.order_by(sleepers.wakes_at).limit(1).scalar_subquery(),
            next_limit.order_by(limits.wakes_at).limit(1).scalar_subquery(),
            next_deadline.order_by(approvals.wakes_at).limit(1).scalar_subquery(),
        )


def _without(query: Select[Any], key: Column[Any], passed_over: Collection[Key]) -> Select[Any]:
    return query.where(key.not_in(passed_over)) if passed_over else query
