"""Every `heartbeat_interval`: deliver the events that a crash left behind, and remove old ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits.events.event_delivery import deliver_event, look_back
from geneva_drive.storage.schema.waits.event_records import EventRecord, EventWaitRecord
from geneva_drive.storage.store import Store
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_BATCH = 200


@dataclass(frozen=True, slots=True)
class _Left:
    events: Sequence[EventRecord]
    waits: Sequence[EventWaitRecord]
    has_expired: bool


class UndeliveredEvents:
    """Delivers events that were not delivered, and matches waits against earlier events."""

    def __init__(self) -> None:
        self._undeliverable = Refusals("Event %s cannot be delivered")
        self._blind = Refusals("Earlier events cannot be delivered to event wait %s")

    def __call__(self, environment: Environment) -> DutyRound:
        store, now = environment.store, environment.clock.now()
        left = store.read_at_once(lambda connection: self._find(store, connection, now))
        events = {one.id: one for one in left.events}
        count = self._undeliverable.each(
            environment,
            list(events),
            lambda key: len(deliver_event(environment, events[key])) + 1,
        )
        count += self._blind.each(
            environment,
            [one.id for one in left.waits],
            lambda key: int(look_back(environment, key)),
        )
        removed = 0
        if left.has_expired:  # rarely: SQLite has one writer only, and steps wait for it
            removed = store.write(lambda connection: _remove_expired(store, connection, now))
        has_more = count > 0 and _BATCH in (len(left.events), len(left.waits))
        return DutyRound(count + removed, has_more=has_more or removed == _BATCH)

    def _find(self, store: Store, connection: Connection, now: datetime) -> _Left:
        return _Left(
            store.events.undelivered(connection, now, _BATCH, self._undeliverable.keys),
            store.event_waits.blind(connection, now, _BATCH, self._blind.keys),
            has_expired=store.events.has_expired(connection, now),
        )


def _remove_expired(store: Store, connection: Connection, now: datetime) -> int:
    # Keep the events that the `match` of a held workflow will see when it is resumed.
    kept = store.event_waits.unmatched(connection)
    return store.events.delete_expired(connection, now, _BATCH, kept)


def duty(every: timedelta) -> Duty:
    return Duty(name="events", every=every, do_round=UndeliveredEvents(), max_rounds=10)
