"""Timers: wake sleeping executions, and act on passed deadlines and due schedules."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.housekeeping.duty import DutyRound
from geneva_drive.worker.housekeeping.limit_waiters import LimitWaiters
from geneva_drive.worker.housekeeping.refused_rows import Refusals
from geneva_drive.worker.housekeeping.schedules import DueSchedules
from geneva_drive.worker.housekeeping.waits.deadlines import APPROVALS, EVENTS, Deadlines

_BATCH = 500
_SHORTEST_REST = 0.001  # seconds
_LOOK_INTERVAL = 0.05  # seconds


class Timers:
    """Wakes sleepers, and remembers when the next one wakes so that the poller can rest until then.

    A round wakes one batch: with a million due, the poller must claim in between.
    """

    def __init__(self, environment: Environment, queues: Sequence[str] | None = None) -> None:
        self._environment = environment
        self.limit_waiters = LimitWaiters(environment, queues)
        self._deadlines = Deadlines(environment, APPROVALS)
        self._event_deadlines = Deadlines(environment, EVENTS)
        self._schedules = DueSchedules(environment)
        self._refusals = Refusals("Execution %s cannot be woken")
        self._next: datetime | None = None
        self._looks_at = time.monotonic()

    def wake_due(self) -> DutyRound:
        """Wake a batch of executions that are due or whose limit has free slots.

        Also act on passed deadlines, and fire due schedules.
        """
        self._schedules.register()
        woken, has_more = self._wake()
        passed = [self._deadlines.pass_due(), self._event_deadlines.pass_due()]
        passed.append(self._schedules.fire_due())
        changed = woken + self.limit_waiters.wake_due() + sum(one.changed for one in passed)
        return DutyRound(changed, has_more or any(one.has_more for one in passed))

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
        """Wake a batch one by one, to find the execution that is refused."""
        store = self._environment.store
        with store.reading() as connection:
            due = store.executions.to_wake(connection, now, _BATCH, self._refusals.keys)

        def wake(key: Key) -> int:
            return store.write(
                lambda connection: store.executions.wake(connection, now, 1, only=key)
            )

        return self._refusals.each(self._environment, due, wake)

    def look(self) -> int:
        """Wake due sleepers, and note when the next one wakes; return the number of changes."""
        self._looks_at = time.monotonic() + _LOOK_INTERVAL
        self._schedules.register()
        self._next = self._read_next()
        if self._next is None or self._next > self._environment.clock.now():
            return 0
        done = self.wake_due()
        self._next = None if done.has_more else self._read_next()
        if done.has_more:
            self._looks_at = time.monotonic()
        return done.changed

    def look_now_and_then(self) -> int:
        """Call `look`, unless it was called a moment ago."""
        return self.look() if time.monotonic() >= self._looks_at else 0

    def until_next(self, rest: float) -> float:
        """Return `rest`, or the seconds until the next sleeper wakes if that is sooner."""
        if self._next is None:
            return rest
        until = (self._next - self._environment.clock.now()) / timedelta(seconds=1)
        return max(_SHORTEST_REST, min(rest, until))

    def _read_next(self) -> datetime | None:
        store = self._environment.store
        refused, approvals = self._refusals.keys, self._deadlines.refused
        events, types = self._event_deadlines.refused, self._schedules.types()
        return store.read_at_once(
            lambda connection: store.next_wakes.earliest(
                connection, refused, approvals, events, types
            )
        )
