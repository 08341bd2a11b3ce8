"""Statements on events and on the workflows that they start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    Update,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ENDED_WORKFLOW_STATES
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.schema.waits.event_records import EVENT_COLUMNS, EventRecord, StartRecord
from geneva_drive.storage.statements.search.page_edge import NEWEST, PageEdge

CALLBACK_TYPE = "callback *"  # the type of stored callbacks; events of users cannot have it


class Events:
    """The rows of `events` and `event_starts`."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._table = tables.events
        self._dialect = dialect

    def insert(self, connection: Connection, values: Mapping[str, Any]) -> Key:
        """Insert an event; raise an `IntegrityError` if its source has published the id before."""
        [row] = self._tables.keyed([values])
        result = connection.execute(insert(self._table), row)
        return result.inserted_primary_key[0] if result.inserted_primary_key else row["id"]

    def get(self, connection: Connection, key: Key) -> EventRecord | None:
        return self.get_many(connection, [key]).get(key)

    def get_many(self, connection: Connection, keys: Collection[Key]) -> dict[Key, EventRecord]:
        rows = connection.execute(self._selected.where(self._table.c.id.in_(keys)))
        return {row[0]: EventRecord.read(row) for row in rows}

    def find(self, connection: Connection, source: str, event_id: str) -> EventRecord | None:
        c = self._table.c
        query = self._selected.where(c.source == source, c.event_id == event_id)
        row = connection.execute(query).first()
        return None if row is None else EventRecord.read(row)

    def page(
        self,
        connection: Connection,
        *,
        limit: int,
        type: str | None = None,
        key: str | None = None,
        edge: PageEdge = NEWEST,
        until: Key | None = None,
    ) -> list[EventRecord]:
        """Return the events after the edge, the nearest event first."""
        c = self._table.c
        query = edge.nearest(self._selected, c.id, limit)
        if type is not None:
            query = query.where(c.type == type)
        if key is not None:
            query = query.where(c.event_key == key)
        if until is not None:
            query = query.where(c.id <= until if edge.is_back else c.id >= until)
        return [EventRecord.read(row) for row in connection.execute(query)]

    def nth_from(self, connection: Connection, edge: PageEdge, count: int) -> Key | None:
        """Return the key of the event number `count` after the edge; None if there are fewer."""
        c = self._table.c
        found: Key | None = connection.scalar(edge.nearest(select(c.id), c.id, 1).offset(count - 1))
        return found

    @cached_property
    def _selected(self) -> Select[Any]:
        return select(*(self._table.c[name] for name in EVENT_COLUMNS))

    def heard_already(
        self, connection: Connection, workflow_ids: Collection[Key], event_ids: Collection[Key]
    ) -> set[tuple[Key, Key]]:
        """Return the pairs (workflow, event) in which the workflow has heard the event."""
        c = self._tables.event_receipts.c
        query = select(c.workflow_id, c.event_id).where(
            c.workflow_id.in_(workflow_ids), c.event_id.in_(event_ids)
        )
        return {(row[0], row[1]) for row in connection.execute(query)}

    def awaited_by(
        self,
        connection: Connection,
        *,
        workflow_id: Key,
        patterns: Collection[str],
        key: str,
        now: datetime,
        after: Key | None = None,
        limit: int = 1,
    ) -> list[EventRecord]:
        """Return the oldest live events for a wait, without those that its workflow has heard."""
        c, r = self._table.c, self._tables.event_receipts.c
        is_heard = exists().where(r.workflow_id == workflow_id, r.event_id == c.id)
        query = self._selected.where(
            or_(*(self._fits(pattern) for pattern in patterns)),
            or_(c.expires_at.is_(None), c.expires_at > now),
            ~is_heard,
        )
        if key:
            query = query.where(c.event_key == key)
        if after is not None:
            query = query.where(c.id > after)
        rows = connection.execute(query.order_by(c.id).limit(limit))
        return [EventRecord.read(row) for row in rows]

    def _fits(self, pattern: str) -> ColumnElement[bool]:
        c = self._table.c
        if not pattern.endswith("*") or pattern == CALLBACK_TYPE:
            return c.type == pattern
        begins = c.type.startswith(pattern[:-1], autoescape=True, escape="/")
        return begins & (c.type != CALLBACK_TYPE)

    def mark_delivered(self, connection: Connection, key: Key, *, is_alone: bool = False) -> bool:
        """Mark an event as delivered; False if it was marked before.

        With `is_alone`, the transaction writes nothing else, and need not survive a crash: an event
        whose mark is lost is delivered again, without effect.
        """
        statement = self._passing_mark if is_alone else self._mark
        return connection.execute(statement, {"key": key}).rowcount == 1

    @cached_property
    def _mark(self) -> Update:
        c = self._table.c
        is_left = (c.id == bindparam("key")) & c.undelivered_at.is_not(None)
        return update(self._table).where(is_left).values(undelivered_at=None)

    @cached_property
    def _passing_mark(self) -> Update:
        condition = self._dialect.without_durability
        return self._mark if condition is None else self._mark.where(condition)

    def undelivered(
        self, connection: Connection, before: datetime, limit: int, passed_over: Collection[Key]
    ) -> list[EventRecord]:
        """Return undelivered events that were stored before a moment."""
        c = self._table.c
        query = self._selected.where(c.undelivered_at.is_not(None), c.undelivered_at <= before)
        if passed_over:
            query = query.where(c.id.not_in(passed_over))
        rows = connection.execute(query.order_by(c.undelivered_at).limit(limit))
        return [EventRecord.read(row) for row in rows]

    def delete_expired(
        self, connection: Connection, now: datetime, limit: int, kept: Collection[Key]
    ) -> int:
        """Delete events past their time to live, except `kept`; return their number.

        Events that an ongoing workflow has heard are kept, too.
        """
        expired = self._expired(now).limit(limit)
        if kept:
            expired = expired.where(self._table.c.id.not_in(kept))
        keys = list(connection.scalars(expired))
        if keys:
            connection.execute(delete(self._table).where(self._table.c.id.in_(keys)))
        return len(keys)

    def has_expired(self, connection: Connection, now: datetime) -> bool:
        """True if `delete_expired` would delete an event."""
        return connection.scalar(self._expired(now).limit(1)) is not None

    def _expired(self, now: datetime) -> Select[Any]:
        c, r, w = self._table.c, self._tables.event_receipts.c, self._tables.workflows.c
        is_over = w.state.in_(sorted(ENDED_WORKFLOW_STATES))
        is_kept = exists().where(r.event_id == c.id, w.id == r.workflow_id, ~is_over)
        query = select(c.id).where(c.expires_at.is_not(None), c.expires_at <= now, ~is_kept)
        return query.order_by(c.expires_at)

    def add_starts(
        self, connection: Connection, key: Key, types: Sequence[str], now: datetime
    ) -> None:
        """Insert a due start of each type for an event, unless the start exists."""
        s = self._tables.event_starts
        known = set(connection.scalars(select(s.c.type).where(s.c.event_id == key)))
        rows = [
            {"event_id": key, "type": name, "due_at": now} for name in types if name not in known
        ]
        if rows:
            connection.execute(insert(s), rows)

    def due_starts(
        self, connection: Connection, types: Collection[str], now: datetime, limit: int
    ) -> list[tuple[EventRecord, str]]:
        """Return live events with due starts of these types, the oldest start first."""
        c, s = self._table.c, self._tables.event_starts.c
        query = (
            self._selected.add_columns(s.type.label("starts"))
            .join(self._tables.event_starts, s.event_id == c.id)
            .where(s.type.in_(sorted(types)), s.due_at.is_not(None), s.due_at <= now)
            .where(or_(c.expires_at.is_(None), c.expires_at > now))
            .order_by(s.due_at)
            .limit(limit)
        )
        return [(EventRecord.read(row[:-1]), row[-1]) for row in connection.execute(query)]

    def count_due_starts(self, connection: Connection, now: datetime) -> dict[str, int]:
        """Count the due starts of live events, by type."""
        c, s = self._table.c, self._tables.event_starts.c
        query = (
            select(s.type, func.count())
            .join(self._table, s.event_id == c.id)
            .where(s.due_at.is_not(None), or_(c.expires_at.is_(None), c.expires_at > now))
            .group_by(s.type)
        )
        return {row[0]: row[1] for row in connection.execute(query)}

    def take_start(self, connection: Connection, key: Key, type: str, now: datetime) -> bool:
        """Take the start of a workflow; False if another worker has taken it."""
        s = self._tables.event_starts
        is_due = (s.c.event_id == key) & (s.c.type == type) & s.c.due_at.is_not(None)
        values = {"due_at": None, "done_at": now}
        return connection.execute(update(s).where(is_due).values(values)).rowcount == 1

    def end_start(
        self, connection: Connection, key: Key, type: str, values: Mapping[str, Any]
    ) -> None:
        """Record the result of a start that was taken in this transaction."""
        s = self._tables.event_starts
        own = (s.c.event_id == key) & (s.c.type == type)
        connection.execute(update(s).where(own).values(**values))

    def starts_of(self, connection: Connection, key: Key) -> list[StartRecord]:
        s = self._tables.event_starts.c
        query = select(s.type, s.workflow_id, s.error)
        rows = connection.execute(query.where(s.event_id == key).order_by(s.type))
        return [StartRecord.read(row) for row in rows]
