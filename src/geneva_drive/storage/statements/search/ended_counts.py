"""Queries for metrics: executions that ended in a window of time, and counts of checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from geneva_drive.storage.schema.execution_conditions import workflow_type
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables


class ExecutionEnd(NamedTuple):
    """How an execution ended, and when it ran."""

    type: str
    outcome: str | None
    started_at: datetime | None
    finished_at: datetime


class EndedCounts:
    """Reads along the index of ended executions."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._executions = tables.step_executions
        self._checkpoints = tables.checkpoints

    def ended(
        self, connection: Connection, after: datetime, until: datetime, limit: int
    ) -> list[ExecutionEnd]:
        """Return the executions that ended in a window, oldest first."""
        c = self._executions.c
        query = (
            select(workflow_type(self._tables), c.outcome, c.started_at, c.finished_at)
            .where(c.finished_at.is_not(None), c.finished_at > after, c.finished_at <= until)
            .order_by(c.finished_at)
            .limit(limit)
        )
        return [ExecutionEnd(*row) for row in connection.execute(query)]

    def last_checkpoint(self, connection: Connection) -> Key | None:
        c = self._checkpoints.c
        return connection.scalar(select(c.id).order_by(c.id.desc()).limit(1))

    def checkpoints_after(
        self, connection: Connection, last: Key | None
    ) -> Sequence[tuple[str, int]]:
        """Count the checkpoints that were recorded after `last`, by reason."""
        c = self._checkpoints.c
        query = select(c.reason, func.count()).group_by(c.reason)
        if last is not None:
            query = query.where(c.id > last)
        return [(row[0], row[1]) for row in connection.execute(query)]
