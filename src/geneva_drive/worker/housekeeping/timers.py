"""Waking sleepers whose time has come."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.housekeeping.duty import Round
from geneva_drive.worker.housekeeping.limit_waiters import Parked
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_BATCH = 500
_SHORTEST_REST = 0.001
_NOW_AND_THEN = 0.05  # seconds


class Timers:
    """Wakes sleepers, and knows when the next one wakes, so that a poller asks no more than needed.

    One batch in a round, as a poller does this: with a million due it must come to claiming in
    between. A row that the database refuses to change is passed over.
    """

    def __init__(self, environment: Environment, queues: Sequence[str] | None = None) -> None:
        self._environment = environment
        self.parked = Parked(environment, queues)
        self._refusals = Refusals("Execution %s cannot be woken")
        self._next: datetime | None = None
        self._looks_at = time.monotonic()

    def wake_due(self) -> Round:
        """Make a batch of executions claimable whose time or turn has come."""
        woken, has_more = self._wake()
        return Round(woken + self.parked.wake_due(), has_more)

    def _wake(self) -> tuple[int, bool]:
        now = self._environment.clock.now()
        return self._refusals.batch(
            self._environment,
            lambda: self._wake_at_once(now),
            lambda: (self._wake_each(now), True),
        )

    def _wake_at_once(self, now: datetime) -> tuple[int, bool]:
        store, refused = self._environment.store, self._refusals.keys
        woken = store.write(
            lambda connection: store.executions.wake(connection, now, _BATCH, passed_over=refused)
        )
        return woken, woken == _BATCH

    def _wake_each(self, now: datetime) -> int:
        """Wake those of a batch one by one, to find out which of them is refused."""
        store = self._environment.store
        with store.reading() as connection:
            due = store.executions.to_wake(connection, now, _BATCH, self._refusals.keys)

        def wake(key: Key) -> int:
            return store.write(
                lambda connection: store.executions.wake(connection, now, 1, only=key)
            )

        return self._refusals.each(self._environment, due, wake)

    def look(self) -> int:
        """Wake those whose time has come; count them, and note whose time comes next."""
        self._looks_at = time.monotonic() + _NOW_AND_THEN
        self._next = self._read_next()
        if self._next is None or self._next > self._environment.clock.now():
            return 0
        done = self.wake_due()
        self._next = None if done.has_more else self._read_next()
        if done.has_more:
            self._looks_at = time.monotonic()
        return done.changed

    def look_now_and_then(self) -> int:
        """Look if it has not been done just now: others may have gone to sleep meanwhile."""
        return self.look() if time.monotonic() >= self._looks_at else 0

    def until_next(self, rest: float) -> float:
        """Rest no longer than to the moment at which the next sleeper wakes."""
        if self._next is None:
            return rest
        until = (self._next - self._environment.clock.now()) / timedelta(seconds=1)
        return max(_SHORTEST_REST, min(rest, until))

    def _read_next(self) -> datetime | None:
        store = self._environment.store
        refused = self._refusals.keys
        return store.read_at_once(
            lambda connection: store.executions.next_wake(connection, refused)
        )
