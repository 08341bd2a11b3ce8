"""Queries for when the executions of one workflow ran, without results and errors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, exists, func, select

from geneva_drive.states import ApprovalState, EventWaitState, Outcome, StepState
from geneva_drive.storage.schema.execution_conditions import is_worker_execution
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables


@dataclass(frozen=True, slots=True)
class Span:
    """The times at which an execution was due, ran and ended."""

    id: Key
    node_id: str
    step_name: str
    attempt_number: int
    state: StepState
    outcome: Outcome | None
    scheduled_for: datetime
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    worker_id: str | None
    child_id: Key | None


@dataclass(frozen=True, slots=True)
class WorkersSpan:
    """The count and times of the workers of a batch or map that are in one state."""

    step_name: str
    state: StepState
    count: int
    first_started_at: datetime | None
    last_finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class WaitSpan:
    """When an execution waited for a person or an event; without an end while it waits."""

    execution_id: Key
    began_at: datetime
    ended_at: datetime | None
    is_for_person: bool


class Timelines:
    """Reads the executions and waits of one workflow."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def spans(
        self, connection: Connection, workflow_id: Key, limit: int, *, has_workers: bool = True
    ) -> list[Span]:
        """Return the first executions, except for workers of batches and maps."""
        c = self._tables.step_executions.c
        # Find their ids first: without workers to leave out, an index has all that this needs.
        own = select(c.id).where(c.workflow_id == workflow_id)
        if has_workers:
            own = own.where(~is_worker_execution(self._tables))
        first = own.order_by(c.id).limit(limit).subquery()
        query = (
            select(*(c[name] for name in Span.__slots__))
            .join(first, first.c.id == c.id)
            .order_by(c.id)
        )
        return [_span(row) for row in connection.execute(query)]

    def workers(self, connection: Connection, workflow_id: Key) -> list[WorkersSpan]:
        """Return the counts and times of each batch's and map's workers, by state."""
        c, x = self._tables.step_executions.c, self._tables.expansions.c
        # Without a batch or map, read no execution: a fan-out may have 100,000.
        has_any = exists().where(x.workflow_id == workflow_id)
        query = (
            select(
                c.step_name,
                c.state,
                func.count(),
                func.min(c.started_at),
                func.max(c.finished_at),
            )
            .where(has_any, c.workflow_id == workflow_id, is_worker_execution(self._tables))
            .group_by(c.step_name, c.state)
        )
        return [
            WorkersSpan(name, StepState(state), count, first, last)
            for name, state, count, first, last in connection.execute(query)
        ]

    def waits(self, connection: Connection, workflow_id: Key, limit: int) -> list[WaitSpan]:
        """Return the waits for people and for events."""
        a, w = self._tables.approvals.c, self._tables.event_waits.c
        asked = (
            select(a.execution_id, a.requested_at, a.decided_at)
            .where(a.workflow_id == workflow_id, a.state != ApprovalState.CANCELED.value)
            .order_by(a.id)
            .limit(limit)
        )
        # A wait for events ends when its body starts, which is in the execution.
        awaited = (
            select(w.execution_id, w.opened_at)
            .where(w.workflow_id == workflow_id, w.state != EventWaitState.CANCELED.value)
            .order_by(w.id)
            .limit(limit)
        )
        people = [WaitSpan(*row, True) for row in connection.execute(asked)]
        return [*people, *(WaitSpan(*row, None, False) for row in connection.execute(awaited))]


def _span(row: Any) -> Span:
    values = dict(zip(Span.__slots__, row, strict=True))
    outcome = values["outcome"]
    return Span(
        **{
            **values,
            "state": StepState(values["state"]),
            "outcome": None if outcome is None else Outcome(outcome),
        }
    )
