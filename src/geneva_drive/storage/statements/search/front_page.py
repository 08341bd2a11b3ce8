"""Counts and first rows for the front page.

Each statement reads along an index, and stops after `most` rows: a count is exact below that.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, exists, func, literal, or_, select, true, union_all
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import (
    ApprovalState,
    DeadLetterReason,
    DeadLetterState,
    StepState,
    WorkflowState,
)
from geneva_drive.storage.schema.execution_conditions import workflow_type
from geneva_drive.storage.schema.records import (
    WORKFLOW_COLUMNS,
    DeadLetterRecord,
    Key,
    WorkflowRecord,
)
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord
from geneva_drive.storage.statements.dead_letters import read_dead_letter
from geneva_drive.storage.statements.statement_portions import portions

_TYPES = 100  # types whose workflows are counted in one statement


@dataclass(frozen=True, slots=True)
class AwaitedEvents:
    """How many waits are open for a type of events."""

    pattern: str
    count: int
    first_expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Sleepers:
    """How many executions of a step wait for their time."""

    type: str
    step_name: str
    count: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class AwaitedChildren:
    """How many child workflows of a type and state are awaited by their parents."""

    type: str
    state: WorkflowState
    count: int


@dataclass(frozen=True, slots=True)
class DueExecutions:
    """How many executions of a type are due on a queue, and since when the oldest is due."""

    queue: str
    type: str
    count: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True)
class ParkedCount:
    """How many executions of a queue wait for a limit."""

    queue: str
    limit_key: str
    count: int


class FrontPage:
    """Queries for the workflows that need a person or wait, in a fixed number of statements."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def approvals(
        self,
        connection: Connection,
        *,
        roles: Collection[str],
        person: str | None,
        are_mine: bool,
        most: int,
        limit: int,
    ) -> tuple[int, list[tuple[ApprovalRecord, WorkflowRecord]]]:
        """Return the number of pending requests that a person may decide, and the oldest ones.

        With `are_mine=False`, of the requests that the person may not decide.
        """
        a, people = self._tables.approvals.c, self._tables.approval_people.c
        # As a literal: with a parameter, the partial index is not used.
        is_pending = a.state == literal(ApprovalState.PENDING.value, literal_execute=True)
        named = select(people.approval_id).where(
            people.person == (person or ""), people.is_assigned == true()
        )
        is_mine = or_(a.role.in_(list(roles)), a.id.in_(named))
        # A request that names people has no role: its condition must not be unknown.
        is_other = and_(func.coalesce(a.role, "").not_in(list(roles)), a.id.not_in(named))
        meant = and_(is_pending, is_mine if are_mine else is_other)
        count = _count(connection, select(a.id).where(meant), most)
        w = self._tables.workflows.c
        query = (
            select(
                *(a[name] for name in ApprovalRecord.__slots__),
                *(w[name].label(f"w_{name}") for name in WORKFLOW_COLUMNS),
            )
            .join_from(self._tables.approvals, self._tables.workflows, w.id == a.workflow_id)
            .where(meant)
            .order_by(a.id)
            .limit(limit)
        )
        end = len(ApprovalRecord.__slots__)
        return count, [
            (ApprovalRecord.read(row[:end]), WorkflowRecord.read(row[end:]))
            for row in connection.execute(query)
        ]

    def other_dead_letters(
        self, connection: Connection, *, looked_at: int, limit: int
    ) -> tuple[int, bool, list[tuple[DeadLetterRecord, WorkflowRecord]]]:
        """Count the pending entries that need an operator and have no failure; return the newest.

        An entry needs nobody once its workflow has been resumed or has ended. Two are different:
        staleness does not pause a workflow, and a report by hand is settled only by hand.

        The second value is True if the count is exact: only the newest `looked_at` entries are
        read.
        """
        d, w = self._tables.dead_letters, self._tables.workflows
        is_pending = d.c.state == literal(DeadLetterState.PENDING.value, literal_execute=True)
        newest = select(d.c.id, d.c.workflow_id, d.c.reason).where(is_pending)
        newest = newest.order_by(d.c.id.desc()).limit(looked_at)
        some = newest.subquery()
        has_stopped_nothing = some.c.reason == DeadLetterReason.STALENESS_TIMEOUT.value
        is_unsettled = or_(
            w.c.state == WorkflowState.PAUSED.value,
            some.c.reason == DeadLetterReason.MANUAL.value,
            and_(has_stopped_nothing, w.c.state == WorkflowState.READY.value),
        )
        meant = (
            select(some.c.id)
            .join_from(some, w, w.c.id == some.c.workflow_id)
            .where(~self._stands_on_failure(), is_unsettled)
            .order_by(some.c.id.desc())
        )
        ids = connection.scalars(meant).all()
        query = (
            select(d, *(w.c[name].label(f"w_{name}") for name in WORKFLOW_COLUMNS))
            .join_from(d, w, w.c.id == d.c.workflow_id)
            .where(d.c.id.in_(ids[:limit]))
            .order_by(d.c.id.desc())
        )
        rows = connection.execute(query).mappings().all() if ids else []
        found = [
            (
                read_dead_letter(row),
                WorkflowRecord.read([row[f"w_{name}"] for name in WORKFLOW_COLUMNS]),
            )
            for row in rows
        ]
        return len(ids), _count(connection, newest, looked_at) < looked_at, found

    def held(
        self, connection: Connection, *, looked_at: int, limit: int
    ) -> tuple[int, bool, list[WorkflowRecord]]:
        """Count the paused workflows without a failure or dead letter, and return the newest.

        The second value is True if the count is exact: only the newest `looked_at` paused workflows
        are read.
        """
        w, d = self._tables.workflows, self._tables.dead_letters.c
        is_letter = exists().where(
            d.workflow_id == w.c.id,
            d.state == literal(DeadLetterState.PENDING.value, literal_execute=True),
        )
        newest = select(w.c.id).where(w.c.state == WorkflowState.PAUSED.value)
        newest = newest.order_by(w.c.id.desc()).limit(looked_at)
        some = newest.subquery()
        meant = (
            select(w.c.id)
            .join_from(some, w, w.c.id == some.c.id)
            .where(~self._stands_on_failure(), ~is_letter)
            .order_by(w.c.id.desc())
        )
        ids = connection.scalars(meant).all()
        columns = (w.c[name] for name in WORKFLOW_COLUMNS)
        query = select(*columns).where(w.c.id.in_(ids[:limit])).order_by(w.c.id.desc())
        found = [WorkflowRecord.read(row) for row in connection.execute(query)] if ids else []
        return len(ids), _count(connection, newest, looked_at) < looked_at, found

    def _stands_on_failure(self) -> ColumnElement[bool]:
        """Return the condition that a workflow is paused and a node's latest attempt failed."""
        w, e = self._tables.workflows.c, self._tables.step_executions.c
        later = self._tables.step_executions.alias("later").c
        is_tried_again = exists().where(
            later.workflow_id == e.workflow_id,
            later.node_id == e.node_id,
            later.attempt_number > e.attempt_number,
        )
        has_failed = exists().where(
            e.workflow_id == w.id, e.state == StepState.FAILED.value, ~is_tried_again
        )
        return and_(w.state == WorkflowState.PAUSED.value, has_failed)

    def awaited_events(
        self, connection: Connection, *, most: int, limit: int
    ) -> tuple[int, list[AwaitedEvents]]:
        """Return the number of open waits, and the types of events that most of them are for."""
        listeners, waits = self._tables.event_listeners.c, self._tables.event_waits.c
        some = (
            select(listeners.pattern, listeners.wait_id)
            .where(listeners.wait_id.is_not(None))
            .limit(most)
            .subquery()
        )
        count = connection.scalar(select(func.count(some.c.wait_id.distinct()))) or 0
        number = func.count()
        query = (
            select(some.c.pattern, number, func.min(waits.expires_at))
            .join_from(some, self._tables.event_waits, waits.id == some.c.wait_id)
            .group_by(some.c.pattern)
            .order_by(number.desc(), some.c.pattern)
            .limit(limit)
        )
        return count, [AwaitedEvents(*row) for row in connection.execute(query)]

    def sleepers(
        self, connection: Connection, *, most: int, limit: int
    ) -> tuple[int, list[Sleepers]]:
        """Return the number of sleeping executions, and the steps with most of them."""
        e = self._tables.step_executions.c
        some = (
            select(workflow_type(self._tables).label("type"), e.step_name, e.wakes_at)
            .where(e.wakes_at.is_not(None))
            .order_by(e.wakes_at)
            .limit(most)
            .subquery()
        )
        count = connection.scalar(select(func.count()).select_from(some)) or 0
        number, c = func.count(), some.c
        query = (
            select(c.type, c.step_name, number, func.min(c.wakes_at), func.max(c.wakes_at))
            .group_by(c.type, c.step_name)
            .order_by(number.desc(), c.type, c.step_name)
            .limit(limit)
        )
        return count, [Sleepers(*row) for row in connection.execute(query)]

    def awaited_children(self, connection: Connection, *, most: int) -> list[AwaitedChildren]:
        """Count the child workflows that nodes wait for, by type and state."""
        e, w = self._tables.step_executions.c, self._tables.workflows.c
        some = (
            select(e.child_id)
            .where(self.is_waiting(), e.child_id.is_not(None))
            .limit(most)
            .subquery()
        )
        number = func.count()
        query = (
            select(w.type, w.state, number)
            .join_from(some, self._tables.workflows, w.id == some.c.child_id)
            .group_by(w.type, w.state)
            .order_by(number.desc(), w.type)
        )
        return [
            AwaitedChildren(row[0], WorkflowState(row[1]), row[2])
            for row in connection.execute(query)
        ]

    def is_waiting(self) -> ColumnElement[bool]:
        """True for a waiting execution, worded so that the index of waiting executions is used."""
        c = self._tables.step_executions.c
        if not self._tables.has_partial_indexes:
            return c.is_waiting == 1
        waiting: ColumnElement[Any] = literal(StepState.WAITING.value, literal_execute=True)
        return c.state == waiting

    def due(self, connection: Connection, *, most: int) -> list[DueExecutions]:
        """Count due executions by queue and type; if there are more than `most`, only some."""
        e = self._tables.step_executions.c
        some = (
            select(e.queue, e.type, e.scheduled_for)
            .where(e.claimable == true())
            .limit(most)
            .subquery()
        )
        query = select(
            some.c.queue, some.c.type, func.count(), func.min(some.c.scheduled_for)
        ).group_by(some.c.queue, some.c.type)
        return [DueExecutions(*row) for row in connection.execute(query)]

    def running(self, connection: Connection) -> list[tuple[str, str, int]]:
        """Return how many executions run, by queue and worker."""
        e = self._tables.step_executions.c
        query = (
            select(e.queue, e.worker_id, func.count())
            .where(e.claim_token.is_not(None))
            .group_by(e.queue, e.worker_id)
        )
        return [(row[0], row[1], row[2]) for row in connection.execute(query)]

    def parked(self, connection: Connection, *, most: int) -> list[ParkedCount]:
        """Return how many executions wait for a limit, by queue and limit."""
        e = self._tables.step_executions.c
        some = (
            select(e.queue, e.limit_key)
            .where(e.limit_key.is_not(None), e.state == StepState.SCHEDULED.value)
            .limit(most)
            .subquery()
        )
        query = select(some.c.queue, some.c.limit_key, func.count()).group_by(
            some.c.queue, some.c.limit_key
        )
        return [ParkedCount(*row) for row in connection.execute(query)]

    def ongoing_by_type(
        self, connection: Connection, types: Sequence[str], most: int
    ) -> dict[str, int]:
        """Count the ongoing workflows of each type, up to `most`, along the index by state."""
        w = self._tables.workflows.c
        found = dict.fromkeys(types, 0)
        states = (WorkflowState.READY.value, WorkflowState.PAUSED.value)
        for portion in portions(types, _TYPES):
            parts = []
            for type_name in portion:
                for state in states:
                    some = select(w.id).where(w.state == state, w.type == type_name).limit(most)
                    total = select(func.count()).select_from(some.subquery()).scalar_subquery()
                    parts.append(select(literal(type_name), total))
            for type_name, total in connection.execute(union_all(*parts)):
                found[type_name] = min(found[type_name] + total, most)
        return found

    def pauses(self, connection: Connection, ids: Sequence[Key]) -> dict[Key, str | None]:
        """Return the actor that last paused each of these workflows."""
        if not ids:
            return {}
        c = self._tables.audit_entries.c
        query = (
            select(c.workflow_id, c.actor)
            .where(c.workflow_id.in_(ids), c.command == "pause")
            .order_by(c.at)
        )
        return {row[0]: row[1] for row in connection.execute(query)}


def _count(connection: Connection, query: Select[Any], most: int) -> int:
    some = query.order_by(None).limit(most).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0
