"""Statements on the counters of ended executions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from geneva_drive.states import StepState
from geneva_drive.storage.schema.execution_conditions import workflow_type
from geneva_drive.storage.schema.tables import Tables

_ONLY = 1  # the id of the row of marks


class ActivityMarks(NamedTuple):
    """The moments up to which ended executions have had their first and their final count."""

    counted_until: datetime
    settled_until: datetime


class ActivityCount(NamedTuple):
    """How many executions of a type and state ended in the span that began at `began_at`."""

    began_at: datetime
    type: str
    state: StepState
    total: int


class Activity:
    """The rows of `activity` and of `activity_marks`."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables.activity
        self._marks = tables.activity_marks
        self._tables = tables
        self._executions = tables.step_executions

    def marks(self, connection: Connection) -> ActivityMarks | None:
        c = self._marks.c
        row = connection.execute(select(c.counted_until, c.settled_until)).first()
        return None if row is None else ActivityMarks._make(row)

    def set_marks(self, connection: Connection, marks: ActivityMarks) -> bool:
        """Insert the first marks; False if another worker has inserted them."""
        try:
            with connection.begin_nested():
                connection.execute(insert(self._marks), {"id": _ONLY, **marks._asdict()})
        except IntegrityError:
            return False
        return True

    def move_marks(
        self, connection: Connection, before: ActivityMarks, after: ActivityMarks
    ) -> bool:
        """Move the marks, unless another worker has moved them since they were read."""
        c = self._marks.c
        statement = (
            update(self._marks)
            .where(
                c.id == _ONLY,
                c.counted_until == before.counted_until,
                c.settled_until == before.settled_until,
            )
            .values(**after._asdict())
        )
        return connection.execute(statement).rowcount == 1

    def first_end(self, connection: Connection, start: datetime, end: datetime) -> datetime | None:
        """Return when the first execution of a window ended."""
        c = self._executions.c
        query = (
            select(c.finished_at)
            .where(c.finished_at.is_not(None), c.finished_at >= start, c.finished_at < end)
            .order_by(c.finished_at)
            .limit(1)
        )
        found: datetime | None = connection.scalar(query)
        return found

    def count_ends(
        self, connection: Connection, start: datetime, end: datetime
    ) -> list[ActivityCount]:
        """Count the executions that ended in a window, by the type of their workflow and state."""
        c = self._executions.c
        ended = (
            select(workflow_type(self._tables).label("type"), c.state)
            .where(c.finished_at.is_not(None), c.finished_at >= start, c.finished_at < end)
            .subquery()
        )
        each = ended.c.type, ended.c.state
        query = select(*each, func.count()).group_by(*each)
        return [
            ActivityCount(start, type_name, StepState(state), total)
            for type_name, state, total in connection.execute(query)
        ]

    def replace(
        self,
        connection: Connection,
        span: timedelta,
        began_at: Iterable[datetime],
        counts: Sequence[ActivityCount],
    ) -> None:
        """Replace the counters of spans, so that counting a span again does not add to it."""
        seconds, c = int(span.total_seconds()), self._table.c
        moments = list(began_at)
        if moments:
            is_old = c.began_at.in_(moments)
            connection.execute(delete(self._table).where(c.span_seconds == seconds, is_old))
        if counts:
            rows = [{"span_seconds": seconds, **count._asdict()} for count in counts]
            connection.execute(insert(self._table), rows)

    def between(
        self, connection: Connection, span: timedelta, start: datetime, end: datetime
    ) -> list[ActivityCount]:
        """Return the counters of spans that began in a window."""
        c = self._table.c
        query = select(c.began_at, c.type, c.state, c.total).where(
            c.span_seconds == int(span.total_seconds()), c.began_at >= start, c.began_at < end
        )
        return [
            ActivityCount(began_at, type_name, StepState(state), total)
            for began_at, type_name, state, total in connection.execute(query)
        ]

    def totals(
        self,
        connection: Connection,
        span: timedelta,
        start: datetime,
        end: datetime,
        type_name: str | None,
    ) -> list[tuple[datetime, StepState, int]]:
        """Return the totals of all types, or of one, for the spans that began in a window."""
        c = self._table.c
        query = select(c.began_at, c.state, func.sum(c.total)).where(
            c.span_seconds == int(span.total_seconds()), c.began_at >= start, c.began_at < end
        )
        if type_name is not None:
            query = query.where(c.type == type_name)
        rows = connection.execute(query.group_by(c.began_at, c.state))
        return [(began_at, StepState(state), int(total)) for began_at, state, total in rows]

    def delete_before(self, connection: Connection, span: timedelta, before: datetime) -> None:
        c = self._table.c
        is_old = (c.span_seconds == int(span.total_seconds())) & (c.began_at < before)
        connection.execute(delete(self._table).where(is_old))
