"""Queries for failed executions and the standing of their workflows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, case, exists, func, literal, select
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ACTIVE_STEP_STATES, StepState, WorkflowState
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.execution_conditions import is_failed_execution
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.search.workflow_traits import FailureTraits, failure_conditions


class FailureRow(NamedTuple):
    """A failed execution."""

    workflow_id: Key
    node_id: str
    type: str
    step_name: str
    error_class: str | None
    message: str | None
    failed_at: datetime
    standing: str


class FailureDetail(NamedTuple):
    """A failed execution with its traceback."""

    workflow_id: Key
    failed_at: datetime
    message: str | None
    backtrace: str | None


class Failures:
    """Finds failed executions by their index, and paused workflows by theirs."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._dialect = dialect

    def since(
        self, connection: Connection, moment: datetime, limit: int, longest: int
    ) -> list[FailureRow]:
        """Return the latest failures since a moment, newest first, with shortened messages."""
        e = self._tables.step_executions.c
        failed_at = e.finished_at if self._tables.has_partial_indexes else e.failed_at
        # A separate statement first finds the few wanted rows by the index of failures: with a
        # join, PostgreSQL would read all failures or all workflows.
        latest = (
            select(e.id)
            .where(is_failed_execution(self._tables), failed_at >= moment)
            .order_by(failed_at.desc())
            .limit(limit)
        )
        ids = list(connection.scalars(latest))
        if not ids:
            return []
        query = self._rows(longest, self._standing()).where(self._dialect.among(e.id, ids))
        query = query.order_by(e.finished_at.desc())
        return [FailureRow(*row) for row in connection.execute(query)]

    def holding(
        self, connection: Connection, ids: Sequence[Key], before: datetime, longest: int
    ) -> list[FailureRow]:
        """Return the failures up to `before` for which these workflows are paused.

        The caller passes the workflows; to find them here, the database would read all history.
        """
        w, e = self._tables.workflows.c, self._tables.step_executions.c
        is_held = and_(w.state == WorkflowState.PAUSED, ~self._has_later_attempt())
        paused: ColumnElement[str] = literal("paused")
        query = self._rows(longest, paused).where(
            self._dialect.among(e.workflow_id, ids),
            e.state == StepState.FAILED,
            e.finished_at <= before,
            is_held,
        )
        return [FailureRow(*row) for row in connection.execute(query)]

    def messages_of(
        self, connection: Connection, failure: FailureTraits, ids: Sequence[Key], longest: int
    ) -> list[tuple[Key, str | None]]:
        """Return the workflows among these with such a failure, each with its message."""
        w, e = self._tables.workflows.c, self._tables.step_executions.c
        query = (
            select(w.id, func.substr(e.error_message, 1, longest))
            .join_from(self._tables.workflows, self._tables.step_executions, w.id == e.workflow_id)
            .where(self._dialect.among(w.id, ids), *failure_conditions(self._tables, failure))
        )
        return [(row[0], row[1]) for row in connection.execute(query)]

    def latest_of(
        self,
        connection: Connection,
        ids: Sequence[Key],
        step: str,
        error_class: str | None,
        limit: int,
    ) -> list[FailureDetail]:
        """Return the latest failures of a step in these workflows, newest first."""
        e = self._tables.step_executions.c
        query = (
            select(e.workflow_id, e.finished_at, e.error_message, e.error_backtrace)
            .where(
                self._dialect.among(e.workflow_id, ids),
                e.state == StepState.FAILED,
                e.step_name == step,
                e.error_class == error_class,
            )
            .order_by(e.finished_at.desc(), e.id.desc())
            .limit(limit)
        )
        return [FailureDetail(*row) for row in connection.execute(query)]

    def _standing(self) -> ColumnElement[str]:
        w = self._tables.workflows.c
        return case(
            (self._has_active_attempt(), "reattempting"),
            (and_(w.state == WorkflowState.PAUSED, ~self._has_later_attempt()), "paused"),
            else_="ended",
        )

    def _rows(self, longest: int, standing: ColumnElement[str]) -> Select[Any]:
        w, e = self._tables.workflows.c, self._tables.step_executions.c
        message = func.substr(e.error_message, 1, longest)
        return select(
            w.id, e.node_id, w.type, e.step_name, e.error_class, message, e.finished_at, standing
        ).join_from(self._tables.step_executions, self._tables.workflows, w.id == e.workflow_id)

    def _has_later_attempt(self) -> Any:
        e, later = self._tables.step_executions.c, self._tables.step_executions.alias("later").c
        return exists().where(
            later.workflow_id == e.workflow_id,
            later.node_id == e.node_id,
            later.attempt_number > e.attempt_number,
        )

    def _has_active_attempt(self) -> Any:
        e, later = self._tables.step_executions.c, self._tables.step_executions.alias("again").c
        return exists().where(
            later.workflow_id == e.workflow_id,
            later.node_id == e.node_id,
            later.attempt_number > e.attempt_number,
            later.state.in_(sorted(ACTIVE_STEP_STATES)),
        )
