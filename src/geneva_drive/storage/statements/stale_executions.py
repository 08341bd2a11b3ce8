"""Queries for executions that are due or in progress, in workflows unchanged for long."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, exists, select
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import DeadLetterReason, WorkflowState
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.dead_letters import DeadLetters
from geneva_drive.storage.statements.statement_portions import portions

_TYPES_AT_ONCE = 250
_MOST_RUNNING = 10_000
_HEAD_OF_QUEUE = 10_000  # executions of a class, in the order in which they are claimed


class QuietExecution(NamedTuple):
    """An execution without progress in the columns of its row, apart from those of its loop."""

    workflow_id: Key
    step_name: str
    scheduled_for: datetime
    started_at: datetime | None  # None if it is due
    progress: str | None


class StaleExecutions:
    """The rows of `step_executions` that are due or in progress.

    The indexes that these statements read contain no sleeping executions.
    """

    def __init__(self, tables: Tables, dead_letters: DeadLetters) -> None:
        self._tables = tables
        self._table = tables.step_executions
        self._dead_letters = dead_letters

    def running_since(
        self, connection: Connection, types: Sequence[str], before: datetime
    ) -> list[QuietExecution]:
        """Return the executions running since before a moment: at most one per worker thread."""
        c = self._table.c
        found: list[QuietExecution] = []
        # Only a pending dead letter counts here: a loop may have made progress since an older one.
        quiet = self._quiet(before, self._dead_letters.is_pending())
        for some in portions(types, _TYPES_AT_ONCE):
            query = quiet.where(
                c.claim_token.is_not(None), c.type.in_(some), c.started_at <= before
            )
            rows = connection.execute(query.limit(_MOST_RUNNING))
            found += [QuietExecution(*row) for row in rows]
        return found

    def due_since(
        self, connection: Connection, type_name: str, before: datetime, limit: int
    ) -> list[QuietExecution]:
        """Return executions due since before a moment, among the next ones to be claimed."""
        c, w = self._table.c, self._tables.workflows.c
        head = (
            select(c.id)
            .where(c.claimable, c.type == type_name)
            .order_by(c.priority.desc(), c.id)
            .limit(_HEAD_OF_QUEUE)
            .subquery()
        )
        is_told = self._dead_letters.is_known(
            DeadLetterReason.STALENESS_TIMEOUT, w.updated_at, c.scheduled_for
        )
        query = self._quiet(before, is_told).join(head, head.c.id == c.id)
        return [QuietExecution(*row) for row in connection.execute(query.limit(limit))]

    def due_types(self, connection: Connection, among: Sequence[str]) -> list[str]:
        """Return the types, among these, that have due executions."""
        c = self._table.c
        due: list[str] = []
        for some in portions(among, _TYPES_AT_ONCE):
            # One index lookup per type, as for ready workflows.
            looks = (exists().where(c.claimable, c.type == one) for one in some)
            row = connection.execute(select(*looks)).one()
            due += [name for name, is_due in zip(some, row, strict=True) if is_due]
        return due

    def running_in(
        self, connection: Connection, workflow_ids: Collection[Key]
    ) -> list[QuietExecution]:
        """Return the executions that run in these workflows."""
        c = self._table.c
        query = select(*self._columns()).where(
            c.workflow_id.in_(workflow_ids), c.claim_token.is_not(None)
        )
        return [QuietExecution(*row) for row in connection.execute(query)]

    def _quiet(self, before: datetime, is_told: ColumnElement[bool]) -> Select[Any]:
        """Select executions whose workflow is ready, unchanged since `before` and not reported."""
        c, w = self._table.c, self._tables.workflows.c
        return (
            select(*self._columns())
            .join(self._tables.workflows, w.id == c.workflow_id)
            .where(
                c.scheduled_for <= before,
                w.state == WorkflowState.READY,
                w.updated_at <= before,
                ~is_told,
            )
        )

    def _columns(self) -> Sequence[ColumnElement[Any]]:
        c = self._table.c
        return c.workflow_id, c.step_name, c.scheduled_for, c.started_at, c.progress
