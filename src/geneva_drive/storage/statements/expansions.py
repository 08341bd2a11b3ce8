"""Statements on expansions: batches and maps."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, case, exists, func, insert, select, update
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ACTIVE_STEP_STATES, UNDONE_STEP_STATES, Outcome, StepState
from geneva_drive.storage.schema.execution_conditions import (
    is_active_execution,
    is_worker_execution,
    is_worker_of,
)
from geneva_drive.storage.schema.expansion_record import ExpansionRecord
from geneva_drive.storage.schema.records import EXECUTION_COLUMNS, ExecutionRecord, Key
from geneva_drive.storage.schema.tables import Tables

_COUNTS = (
    *("total", "started", "requeued", "done", "failed", "items_done", "item_errors"),
    "parallelism",
)


# A worker that waits for its child workflow counts as running, too.
_RUNNING = (StepState.IN_PROGRESS, StepState.WAITING)
_MOST_URGENT = (*UNDONE_STEP_STATES, *_RUNNING, StepState.SUSPENDED, StepState.SCHEDULED)


class WorkersUnderWay(NamedTuple):
    """The active workers of a batch or map."""

    running: int = 0
    items: int = 0  # the number of items that they have completed so far


class WorkersInState(NamedTuple):
    """The workers of a batch or map whose latest attempts have the same state and outcome."""

    state: StepState
    outcome: Outcome | None
    number: int
    attempt_number: int  # the highest
    scheduled_for: datetime  # the first
    started_at: datetime | None  # the first
    finished_at: datetime | None  # the last


class WorkerAttempt(NamedTuple):
    """The latest attempt of a worker, with the columns that counts and results need."""

    node_id: str
    state: StepState
    outcome: Outcome | None
    completed_iterations: int
    item_errors: int
    share: str
    attempt_number: int


class WorkerResult(NamedTuple):
    """The latest attempt of a worker, with its result or error."""

    node_id: str
    state: StepState
    outcome: Outcome | None
    completed_iterations: int
    item_errors: int
    share: str
    result: str | None
    error_class: str | None
    error_message: str | None


class Expansions:
    """The rows of `expansions`, written only under the lock of their workflow."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.expansions
        self._executions = tables.step_executions

    def insert(self, connection: Connection, record: ExpansionRecord) -> None:
        connection.execute(insert(self._table), [asdict(record)])

    def of(self, connection: Connection, workflow_id: Key) -> dict[str, ExpansionRecord]:
        """Return the batches and maps of a workflow that have been expanded, by node."""
        query = select(self._table).where(self._table.c.workflow_id == workflow_id)
        rows = connection.execute(query).mappings()
        return {row["node_id"]: ExpansionRecord.of(row) for row in rows}

    def save(self, connection: Connection, record: ExpansionRecord) -> None:
        """Write the counts of an expansion that was read under the workflow's lock."""
        c = self._table.c
        values = {name: getattr(record, name) for name in _COUNTS}
        connection.execute(
            update(self._table)
            .where(c.workflow_id == record.workflow_id, c.node_id == record.node_id)
            .values(**values)
        )

    def workers(self, connection: Connection, workflow_id: Key) -> list[WorkerAttempt]:
        """Return the latest attempt of each worker of a workflow's batches and maps."""
        c = self._executions.c
        counts = (c.completed_iterations, c.item_errors, c.share, c.attempt_number)
        query = select(c.node_id, c.state, c.outcome, *counts).where(
            c.workflow_id == workflow_id, is_worker_execution(self._tables), self._is_last()
        )
        return [
            WorkerAttempt(row[0], StepState(row[1]), Outcome(row[2]) if row[2] else None, *row[3:])
            for row in connection.execute(query)
        ]

    def results(self, connection: Connection, workflow_id: Key, node_id: str) -> list[WorkerResult]:
        """Return the latest attempts of a batch's workers or a map's items, in their order."""
        c = self._executions.c
        names = ("node_id", "state", "outcome", "completed_iterations", "item_errors", "share")
        columns = [c[name] for name in (*names, "result", "error_class", "error_message")]
        query = select(*columns).where(
            c.workflow_id == workflow_id,
            is_worker_execution(self._tables),
            self._is_last(),
        )
        found = [
            WorkerResult(row[0], StepState(row[1]), Outcome(row[2]) if row[2] else None, *row[3:])
            for row in connection.execute(query)
        ]
        # Leave out workers of other batches, and worker 0, which has nothing to do.
        numbers = {row.node_id: _number_in(row.share, node_id) or 0 for row in found}
        own = [row for row in found if numbers[row.node_id]]
        return sorted(own, key=lambda row: numbers[row.node_id])

    def under_way(self, connection: Connection, workflow_id: Key) -> dict[str, WorkersUnderWay]:
        """Count the active workers of each batch and map, by its node."""
        c = self._executions.c
        query = (
            select(c.state, func.min(c.share), func.count(), func.sum(c.completed_iterations))
            .where(
                c.workflow_id == workflow_id,
                is_active_execution(self._tables),
                is_worker_execution(self._tables),
            )
            .group_by(c.step_name, c.state)
        )
        found: dict[str, WorkersUnderWay] = {}
        for state, share, count, items in connection.execute(query):
            node_id = json.loads(share)["expansion"]
            running, before = found.get(node_id, WorkersUnderWay())
            running += count if StepState(state) in _RUNNING else 0
            found[node_id] = WorkersUnderWay(running, before + int(items or 0))
        return found

    def by_state(self, connection: Connection, workflow_id: Key) -> dict[str, list[WorkersInState]]:
        """Count the workers of each batch and map, by state and outcome.

        Only latest attempts are counted, but the times are those of all attempts.
        """
        c, later = self._executions.c, self._executions.alias()
        of_workers = (c.workflow_id == workflow_id) & is_worker_execution(self._tables)
        alike = (c.step_name, c.state, c.outcome)
        query = (
            select(
                *alike,
                func.min(c.share),
                func.count(),
                func.max(c.attempt_number),
                func.min(c.scheduled_for),
                func.min(c.started_at),
                func.max(c.finished_at),
            )
            .where(of_workers)
            .group_by(*alike)
        )
        rows = connection.execute(query).all()
        former: dict[tuple[Any, ...], int] = {}
        if any(row[5] > 1 for row in rows):
            followed = (
                select(*alike, func.count())
                .where(
                    of_workers,
                    later.c.workflow_id == workflow_id,
                    later.c.node_id == c.node_id,
                    later.c.attempt_number == c.attempt_number + 1,
                    later.c.attempt_number > 1,
                )
                .group_by(*alike)
            )
            former = {tuple(row[:3]): row[3] for row in connection.execute(followed)}
        found: dict[str, list[WorkersInState]] = defaultdict(list)
        for name, state, outcome, share, count, *rest in rows:
            left = count - former.get((name, state, outcome), 0)
            if left:
                ended = None if outcome is None else Outcome(outcome)
                one = WorkersInState(StepState(state), ended, left, *rest)
                found[json.loads(share)["expansion"]].append(one)
        return found

    def foremost(
        self, connection: Connection, workflow_id: Key, node_id: str, limit: int
    ) -> list[ExecutionRecord]:
        """Return the workers to show first: failed ones, and those that have run longest."""
        c = self._executions.c
        urgency = case(
            {state: rank for rank, state in enumerate(_MOST_URGENT)}, value=c.state, else_=99
        )
        # NULLs sort differently on each database.
        since = func.coalesce(c.started_at, c.created_at)
        order = (urgency, since, c.id)
        is_meant = (c.workflow_id == workflow_id) & is_worker_of(self._tables, node_id)
        is_active = c.state.in_(ACTIVE_STEP_STATES)
        is_urgent = is_active | (c.state.in_(UNDONE_STEP_STATES) & self._is_last())
        # Read all workers only if there are too few urgent ones. An active attempt is always the
        # latest of its worker; for 100,000 other attempts, each would require a lookup.
        for is_eligible in (is_urgent, self._is_last()):
            # Only ids are sorted: 100,000 whole rows would be sorted on disk.
            ids = select(c.id).where(is_meant, is_eligible).order_by(*order).limit(limit).subquery()
            columns = (c[name] for name in EXECUTION_COLUMNS)
            query = select(*columns).join(ids, c.id == ids.c.id).order_by(*order)
            found = [ExecutionRecord.read(row) for row in connection.execute(query)]
            if len(found) == limit:
                break
        return found

    def _is_last(self) -> ColumnElement[bool]:
        c, later = self._executions.c, self._executions.alias()
        return ~exists().where(
            later.c.workflow_id == c.workflow_id,
            later.c.node_id == c.node_id,
            later.c.attempt_number > c.attempt_number,
        )


def _number_in(share: str, node_id: str) -> int | None:
    """Return a worker's number; None if it belongs to another batch or map."""
    stored = json.loads(share)
    return int(stored["number"]) if stored["expansion"] == node_id else None
