"""Pages of rows by id; each page starts where the previous one ended."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, literal, or_, select, true
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ApprovalState, DeadLetterState, EventWaitState
from geneva_drive.storage.schema.records import DeadLetterRecord, ExecutionRecord, Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord
from geneva_drive.storage.statements.dead_letters import read_dead_letter
from geneva_drive.storage.statements.search.page_edge import PageEdge


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalInbox:
    """The wanted requests; a field that is None excludes none."""

    state: ApprovalState | None = None
    only_ended: bool = False  # decided, expired or canceled
    role: str | None = None
    person: str | None = None  # with `person_roles`: the requests that this person may decide
    person_roles: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntryRow:
    """An audit entry with its workflow or its other subject."""

    id: Key
    workflow_id: Key | None
    subject: str | None  # for an act without a workflow, and for a run of a schedule
    command: str
    actor: str | None
    reason: str | None
    at: datetime
    approval_id: Key | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """The due and running executions of a queue."""

    queue: str
    due: int
    oldest_due_at: datetime | None
    running: int


class Pages:
    """Reads pages for lists, and the state of queues."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def approvals(
        self, connection: Connection, wanted: ApprovalInbox, edge: PageEdge, limit: int
    ) -> list[ApprovalRecord]:
        c, people = self._tables.approvals.c, self._tables.approval_people.c
        query = select(*(c[name] for name in ApprovalRecord.__slots__))
        if wanted.state is not None:
            # As a literal: with a parameter, the partial index is not used.
            query = query.where(c.state == literal(wanted.state.value, literal_execute=True))
        if wanted.only_ended:
            query = query.where(c.state != ApprovalState.PENDING.value)
        if wanted.role is not None:
            query = query.where(c.role == wanted.role)
        if wanted.person is not None:
            named = select(people.approval_id).where(
                people.person == wanted.person, people.is_assigned == true()
            )
            query = query.where(or_(c.id.in_(named), c.role.in_(sorted(wanted.person_roles))))
        rows = connection.execute(edge.nearest(query, c.id, limit)).mappings()
        return [ApprovalRecord.of(row) for row in rows]

    def dead_letters(
        self, connection: Connection, state: DeadLetterState | None, edge: PageEdge, limit: int
    ) -> list[DeadLetterRecord]:
        table = self._tables.dead_letters
        query = select(table)
        if state is not None:
            query = query.where(table.c.state == state.value)
        rows = connection.execute(edge.nearest(query, table.c.id, limit)).mappings()
        return [read_dead_letter(row) for row in rows]

    def audit_entries(
        self, connection: Connection, workflow_id: Key | None, edge: PageEdge, limit: int
    ) -> list[AuditEntryRow]:
        c = self._tables.audit_entries.c
        query = select(*(c[name] for name in AuditEntryRow.__slots__))
        if workflow_id is not None:
            query = query.where(c.workflow_id == workflow_id)
        rows = connection.execute(edge.nearest(query, c.id, limit)).mappings()
        return [AuditEntryRow(**row) for row in rows]

    def audit_search(
        self,
        connection: Connection,
        *,
        actor: str | None,
        command: str | None,
        edge: PageEdge,
        looked_at: int,
        limit: int,
    ) -> tuple[list[AuditEntryRow], Key | None]:
        """Return the nearest entries of an actor and a command, and where to continue.

        Neither has an index, so only `looked_at` entries are read. The second value is the key of
        the last entry read, or None if there were fewer.
        """
        c = self._tables.audit_entries.c
        some = edge.nearest(select(c.id), c.id, looked_at).subquery()
        query = (
            select(*(c[name] for name in AuditEntryRow.__slots__))
            .join_from(some, self._tables.audit_entries, c.id == some.c.id)
            .order_by(c.id.asc() if edge.is_back else c.id.desc())
            .limit(limit)
        )
        if actor is not None:
            query = query.where(c.actor == actor)
        if command is not None:
            query = query.where(c.command == command)
        found = [AuditEntryRow(**row) for row in connection.execute(query).mappings()]
        last = edge.nearest(select(c.id), c.id, 1).offset(looked_at - 1)
        return found, connection.scalar(last)

    def heard_counts(
        self, connection: Connection, ids: Sequence[Key]
    ) -> dict[Key, tuple[int, int, int]]:
        """Return, for each event, how many workflows it started and continued, and its refusals."""
        s, r, w = (
            self._tables.event_starts.c,
            self._tables.event_receipts.c,
            self._tables.event_waits.c,
        )
        starts = (
            select(s.event_id, func.count(s.workflow_id), func.count(s.error))
            .where(s.event_id.in_(ids))
            .group_by(s.event_id)
        )
        continued = (
            select(r.event_id, func.count())
            .join_from(self._tables.event_receipts, self._tables.event_waits, w.id == r.wait_id)
            .where(r.event_id.in_(ids), w.state == EventWaitState.HEARD.value)
            .group_by(r.event_id)
        )
        if not ids:
            return {}
        by_event = {row[0]: row[1] for row in connection.execute(continued)}
        started = {row[0]: (row[1], row[2]) for row in connection.execute(starts)}
        return {
            one: (started.get(one, (0, 0))[0], by_event.get(one, 0), started.get(one, (0, 0))[1])
            for one in ids
        }

    def executions(
        self, connection: Connection, workflow_id: Key, edge: PageEdge, limit: int
    ) -> list[ExecutionRecord]:
        table = self._tables.step_executions
        query = select(table).where(table.c.workflow_id == workflow_id)
        rows = connection.execute(edge.nearest(query, table.c.id, limit)).mappings()
        return [ExecutionRecord.of(row) for row in rows]

    def queues(self, connection: Connection) -> list[QueueCounts]:
        """Return the queues with due or running executions, by name."""
        c = self._tables.step_executions.c
        due = self._by_queue(connection, c.claimable == true())
        running = self._by_queue(connection, c.claim_token.is_not(None))
        return [
            QueueCounts(
                queue=name,
                due=due[name][0] if name in due else 0,
                oldest_due_at=due[name][1] if name in due else None,
                running=running[name][0] if name in running else 0,
            )
            for name in sorted({*due, *running})
        ]

    def _by_queue(
        self, connection: Connection, condition: ColumnElement[bool]
    ) -> dict[str, tuple[int, datetime]]:
        c = self._tables.step_executions.c
        query = select(c.queue, func.count(), func.min(c.scheduled_for)).where(condition)
        return {row[0]: (row[1], row[2]) for row in connection.execute(query.group_by(c.queue))}

    def marks(self, connection: Connection) -> Sequence[Any]:
        """Return values that change whenever rows are added, begin to run or end.

        Each value is the head of an index, so that the cost does not depend on the number of rows.
        A checkpoint adds a row.
        """
        tables = self._tables
        running = tables.step_executions.c
        heads = [
            # No max(): PostgreSQL has none for UUIDs.
            select(table.c.id).order_by(table.c.id.desc()).limit(1).scalar_subquery()
            for table in (
                tables.workflows,
                tables.step_executions,
                tables.approvals,
                tables.events,
                tables.audit_entries,
                tables.dead_letters,
                tables.checkpoints,
            )
        ]
        is_held = running.claim_token.is_not(None)
        held = [
            select(func.count()).where(is_held).scalar_subquery(),
            select(running.id)
            .where(is_held)
            .order_by(running.id.desc())
            .limit(1)
            .scalar_subquery(),
        ]
        ended = [
            select(func.max(column)).where(column.is_not(None)).scalar_subquery()
            for column in (tables.workflows.c.finished_at, tables.workflows.c.canceled_at)
        ]
        return tuple(connection.execute(select(*heads, *held, *ended)).one())
