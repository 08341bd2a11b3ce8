"""Statements on waits for events, their listeners and their receipts.

Callers lock the workflow before they write to one of its waits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    false,
    insert,
    literal,
    select,
    update,
)

from geneva_drive.serialization import typed_json
from geneva_drive.states import EventWaitState
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.dialects.event_insert import UndeliveredEvent
from geneva_drive.storage.dialects.kept_writes import KeptWrite, insertion, new_places, new_values
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.schema.waits.event_records import (
    EVENT_COLUMNS,
    WAIT_COLUMNS,
    EventListenerRecord,
    EventRecord,
    EventWaitRecord,
)
from geneva_drive.storage.statements.waits.deadlines import due_deadlines

# As a literal: with a parameter, the partial index is not used.
_OPEN = literal(EventWaitState.OPEN.value, literal_execute=True)

_HEARD = {"state": EventWaitState.HEARD.value, "wakes_at": None, "arrived": None}


class EventWaits:
    """The rows of `event_waits`, `event_listeners` and `event_receipts`."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._dialect = dialect
        self._table = tables.event_waits
        self._listeners = tables.event_listeners
        self._receipts = tables.event_receipts

    def open(
        self, connection: Connection, values: Mapping[str, Any], patterns: Sequence[str]
    ) -> Key:
        """Insert a wait with its listeners; cancel an earlier open wait of the same step."""
        c = self._table.c
        former = select(c.id).where(
            c.workflow_id == values["workflow_id"],
            c.step_name == values["step_name"],
            c.state == _OPEN,
        )
        self.close(connection, list(connection.scalars(former)), EventWaitState.CANCELED)
        [row] = self._tables.keyed([values])
        result = connection.execute(insert(self._table), row)
        key = result.inserted_primary_key[0] if result.inserted_primary_key else row["id"]
        listened = [
            {
                "pattern": pattern,
                "awaited_key": values["awaited_key"],
                "wait_id": key,
                "workflow_id": values["workflow_id"],
            }
            for pattern in dict.fromkeys(patterns)
        ]
        connection.execute(insert(self._listeners), self._tables.keyed(listened))
        return key

    def get(self, connection: Connection, key: Key) -> EventWaitRecord | None:
        return self.get_many(connection, [key]).get(key)

    def get_many(self, connection: Connection, keys: Collection[Key]) -> dict[Key, EventWaitRecord]:
        c = self._table.c
        query = self._selected.where(c.id.in_(keys)).order_by(c.id)
        return {row[0]: _wait(row) for row in connection.execute(query)}

    def get_with_heard(
        self, connection: Connection, key: Key
    ) -> tuple[EventWaitRecord | None, list[EventRecord]]:
        """Return a wait and the events that it has heard, in the order of its types."""
        rows = connection.execute(self._with_heard, {"key": key}).all()
        border = len(WAIT_COLUMNS)
        heard = [EventRecord.read(row[border:]) for row in rows if row[border] is not None]
        return (_wait(rows[0][:border]) if rows else None), heard

    @cached_property
    def _with_heard(self) -> Select[Any]:
        c, r, e = self._table.c, self._receipts.c, self._tables.events.c
        return (
            self._selected.add_columns(*(e[name] for name in EVENT_COLUMNS))
            .outerjoin(self._receipts, r.wait_id == c.id)
            .outerjoin(self._tables.events, e.id == r.event_id)
            .where(c.id == bindparam("key"))
            .order_by(r.place)
        )

    def get_to_hear(
        self, connection: Connection, keys: Collection[Key], *, is_alone: bool
    ) -> dict[Key, EventWaitRecord]:
        """Return waits; with `is_alone`, the writes of this transaction need not survive a crash.

        An event whose delivery is lost remains undelivered, and is delivered again.
        """
        c = self._table.c
        query = self._selected.where(c.id.in_(keys)).order_by(c.id)
        condition = self._dialect.without_durability
        if is_alone and condition is not None:
            query = query.where(condition)
        return {row[0]: _wait(row) for row in connection.execute(query)}

    def open_of(self, connection: Connection, workflow_id: Key) -> list[EventWaitRecord]:
        """Return the open waits of a workflow, the oldest first."""
        c = self._table.c
        query = self._selected.where(c.workflow_id == workflow_id, c.state == _OPEN).order_by(c.id)
        return [_wait(row) for row in connection.execute(query)]

    @cached_property
    def _selected(self) -> Select[Any]:
        return select(*(self._table.c[name] for name in WAIT_COLUMNS))

    def update(
        self, connection: Connection, keys: Collection[Key], values: Mapping[str, Any]
    ) -> None:
        """Update waits that are still open."""
        c = self._table.c
        own = c.id.in_(keys) & (c.state == _OPEN)
        connection.execute(update(self._table).where(own).values(**values))

    def close(self, connection: Connection, keys: Collection[Key], state: EventWaitState) -> None:
        """End open waits; events that an unsatisfied wait has heard become unheard."""
        if not keys:
            return
        values = {"state": state, "wakes_at": None, "arrived": None}
        if state is not EventWaitState.HEARD:
            c, r = self._table.c, self._receipts.c
            ended = select(c.id).where(c.id.in_(keys), c.state == _OPEN)
            connection.execute(delete(self._receipts).where(r.wait_id.in_(ended)))
        self.update(connection, keys, values)
        self.stop_listening(connection, keys)

    def stop_listening(self, connection: Connection, keys: Collection[Key]) -> None:
        own = self._listeners.c.wait_id.in_(keys)
        connection.execute(delete(self._listeners).where(own))

    def hearing(self, key: Key) -> KeptWrite:
        """Return the write that ends a satisfied wait if it is open."""
        return KeptWrite(self._hearing, {"key": key, **new_values(_HEARD)})

    @cached_property
    def _hearing(self) -> Update:
        c = self._table.c
        is_open = c.state == EventWaitState.OPEN.value
        own = update(self._table).where(c.id == bindparam("key"), is_open)
        return own.values(new_places(tuple(_HEARD)))

    def receiving(self, row: Mapping[str, Any]) -> KeptWrite:
        """Return the write that inserts the receipt of an event that a wait has heard."""
        [keyed] = self._tables.keyed([row])
        return insertion(self._receipts, keyed)

    def unmatched(self, connection: Connection) -> set[Key]:
        """Return the events that have arrived at open waits whose match has not seen them."""
        c = self._table.c
        query = select(c.arrived).where(c.state == _OPEN, c.arrived.is_not(None))
        found = connection.scalars(query)
        return {key for arrived in found for key in typed_json.load(arrived)}

    def due(
        self, connection: Connection, now: datetime, limit: int, passed_over: Collection[Key] = ()
    ) -> list[tuple[Key, Key]]:
        """Return up to `limit` waits past their deadline, each with its workflow's id."""
        return due_deadlines(connection, self._table, now, limit, passed_over)

    def blind(
        self, connection: Connection, before: datetime, limit: int, passed_over: Collection[Key]
    ) -> list[EventWaitRecord]:
        """Return open waits from before a moment that have not checked earlier events."""
        c = self._table.c
        query = self._selected.where(
            and_(c.state == _OPEN, c.has_looked == false()), c.opened_at <= before
        )
        if passed_over:
            query = query.where(c.id.not_in(passed_over))
        rows = connection.execute(query.order_by(c.opened_at).limit(limit))
        return [_wait(row) for row in rows]

    def listening(
        self, connection: Connection, patterns: Collection[str], key: str
    ) -> list[EventListenerRecord]:
        """Return the listeners to an event of these patterns and this key."""
        c = self._listeners.c
        query = select(c.wait_id, c.workflow_id, c.type).where(
            c.pattern.in_(patterns), c.awaited_key.in_({key, ""})
        )
        return [EventListenerRecord.read(row) for row in connection.execute(query)]

    def find_listeners(
        self, connection: Connection, event: UndeliveredEvent
    ) -> tuple[list[EventListenerRecord], bool]:
        """Return the listeners of a stored event; if there are none, mark it as delivered.

        The second value is True if the event was marked.
        """
        rows, is_marked = self._dialect.find_listeners(connection, self._tables, event)
        return [EventListenerRecord.read(row) for row in rows], is_marked

    def near_misses(
        self, connection: Connection, patterns: Collection[str], key: str, limit: int
    ) -> list[Key]:
        """Return up to `limit` workflows that wait for these patterns with another key."""
        c = self._listeners.c
        query = select(c.workflow_id).where(
            c.pattern.in_(patterns), c.awaited_key.not_in({key, ""}), c.workflow_id.is_not(None)
        )
        # Any of them: to find the first of many waits, the database would have to sort all.
        return sorted(set(connection.scalars(query.limit(limit))), key=str)

    def awaited_keys(self, connection: Connection, ids: Collection[Key]) -> dict[Key, str]:
        """Return the key that each workflow waits for; with several waits, that of the newest."""
        c = self._table.c
        query = select(c.workflow_id, c.awaited_key).where(
            c.workflow_id.in_(ids), c.state == _OPEN, c.awaited_key != ""
        )
        return {row[0]: row[1] for row in connection.execute(query.order_by(c.id))}

    def register(self, connection: Connection, triggers: Mapping[str, Collection[str]]) -> None:
        """Make classes listen to exactly the patterns of their triggers."""
        c = self._listeners.c
        rows = connection.execute(select(c.type, c.pattern).where(c.type.in_(sorted(triggers))))
        known = {(row[0], row[1]) for row in rows}
        wanted = {(name, pattern) for name, each in triggers.items() for pattern in each}
        for name, pattern in sorted(known - wanted):
            own = (c.type == name) & (c.pattern == pattern)
            connection.execute(delete(self._listeners).where(own))
        added = [
            {"pattern": pattern, "awaited_key": "", "type": name}
            for name, pattern in sorted(wanted - known)
        ]
        if added:
            connection.execute(insert(self._listeners), self._tables.keyed(added))

    def triggered_types(self, connection: Connection) -> set[str]:
        """Return the types of the classes that events start."""
        c = self._listeners.c
        return set(connection.scalars(select(c.type).where(c.type.is_not(None)).distinct()))

    def add_receipts(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            connection.execute(insert(self._receipts), self._tables.keyed(rows))

    def places(self, connection: Connection, wait_ids: Collection[Key]) -> dict[Key, set[int]]:
        """Return, for each wait, the positions of the types that it has heard."""
        c = self._receipts.c
        found: dict[Key, set[int]] = {key: set() for key in wait_ids}
        query = select(c.wait_id, c.place).where(c.wait_id.in_(wait_ids))
        for row in connection.execute(query):
            found[row[0]].add(row[1])
        return found

    def continued_by(self, connection: Connection, event_id: Key) -> list[Key]:
        """Return the workflows that continued because of an event."""
        r, c = self._receipts.c, self._table.c
        query = (
            select(r.workflow_id)
            .join(self._table, c.id == r.wait_id)
            .where(r.event_id == event_id, c.state == EventWaitState.HEARD.value)
            .order_by(r.workflow_id)
        )
        return list(connection.scalars(query))

    def events_of_waits(self, connection: Connection, wait_ids: Collection[Key]) -> list[Key]:
        r = self._receipts.c
        return list(connection.scalars(select(r.event_id).where(r.wait_id.in_(wait_ids))))


def _wait(row: Any) -> EventWaitRecord:
    values = list(row)
    values[WAIT_COLUMNS.index("state")] = EventWaitState(values[WAIT_COLUMNS.index("state")])
    return EventWaitRecord.read(values)
