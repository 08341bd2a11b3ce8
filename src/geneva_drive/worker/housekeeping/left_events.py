"""Every `heartbeat_interval`: deliver the events that a crash left behind, and remove old ones."""

from __future__ import annotations

from datetime import timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits.event_delivery import deliver_event, look_back
from geneva_drive.worker.housekeeping.duty import Duty, Round
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_BATCH = 200


class LeftEvents:
    """Looks from both sides: events that were not delivered, and waits that have not looked."""

    def __init__(self) -> None:
        self._undeliverable = Refusals("Event %s cannot be delivered")
        self._blind = Refusals("No earlier event can be given to event wait %s")

    def __call__(self, environment: Environment) -> Round:
        store, now = environment.store, environment.clock.now()
        with store.reading() as connection:
            events = {
                one.id: one
                for one in store.events.undelivered(
                    connection, now, _BATCH, self._undeliverable.keys
                )
            }
            waits = store.event_waits.blind(connection, now, _BATCH, self._blind.keys)
        count = self._undeliverable.each(
            environment,
            list(events),
            lambda key: len(deliver_event(environment, events[key])) + 1,
        )
        count += self._blind.each(
            environment, [one.id for one in waits], lambda key: int(look_back(environment, key))
        )
        removed = store.write(
            lambda connection: store.events.delete_expired(connection, now, _BATCH)
        )
        has_more = count > 0 and _BATCH in (len(events), len(waits))
        return Round(count + removed, has_more=has_more or removed == _BATCH)


def duty(every: timedelta) -> Duty:
    return Duty(name="events", every=every, do_round=LeftEvents(), max_rounds=10)
