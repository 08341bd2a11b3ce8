"""Waking sleepers whose time has come."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta

from geneva_drive.engine import unparking
from geneva_drive.engine.environment import Environment
from geneva_drive.worker.housekeeping.duty import Round

_BATCH = 500
_SHORTEST_REST = 0.001
_NOW_AND_THEN = 0.05  # seconds


def wake_due(environment: Environment, queues: Sequence[str] | None = None) -> Round:
    """Make a batch of executions claimable whose time or turn has come.

    One batch, as a poller does this: with a million due it must come to claiming in between.
    """
    store, now = environment.store, environment.clock.now()
    woken = store.write(lambda connection: store.executions.wake(connection, now, _BATCH))
    let_go = unparking.wake_due(environment, queues)
    return Round(woken + let_go, has_more=woken == _BATCH)


class Timers:
    """When the next sleeper wakes, so that a poller asks and writes no more than it has to."""

    def __init__(self, environment: Environment, queues: Sequence[str] | None) -> None:
        self._environment = environment
        self._queues = queues
        self._next: datetime | None = None
        self._looks_at = time.monotonic()

    def look(self) -> int:
        """Wake those whose time has come; count them, and note whose time comes next."""
        self._looks_at = time.monotonic() + _NOW_AND_THEN
        self._next = self._read_next()
        if self._next is None or self._next > self._environment.clock.now():
            return 0
        done = wake_due(self._environment, self._queues)
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
        return store.read_at_once(store.executions.next_wake)
