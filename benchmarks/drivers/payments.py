"""W9b in the client: workflows that wait for an event by key, and the publisher of their events."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

from sqlalchemy import Connection, String, column, func, select
from sqlalchemy import table as table_of

import geneva_drive as gd
from benchmarks.drivers.geneva_app import PAYMENT, Paid

_POLL_INTERVAL = 0.02
_listeners = table_of("geneva_drive_event_listeners", column("pattern", String))
_executions = table_of(
    "geneva_drive_step_executions", column("state", String), column("type", String)
)


class Payments:
    """Releases workflows by events, with the words of `DecidingDriver`: a request is a key."""

    def __init__(self, drive: gd.Drive, connection: Connection) -> None:
        self._drive = drive
        self._connection = connection
        self._numbers = itertools.count(1)
        active = _executions.c.state.in_(["scheduled", "in_progress"])
        unfinished = select(1).select_from(_executions).where(active, _executions.c.type == "Paid")
        self._unfinished = select(unfinished.exists())

    def start_waiting(self, count: int) -> Sequence[str]:
        before = self._waiting_count()
        keys = [f"order-{next(self._numbers)}" for _ in range(count)]
        for key in keys:
            Paid.using(self._drive).create(context={"key": key})
        while self._waiting_count() < before + count or self.is_deciding():
            time.sleep(_POLL_INTERVAL)
        return keys

    def _waiting_count(self) -> int:
        count = select(func.count()).select_from(_listeners).where(_listeners.c.pattern == PAYMENT)
        return self._connection.scalar(count) or 0

    def decide(self, request: str) -> None:
        self._drive.publish(PAYMENT, key=request)

    def is_deciding(self) -> bool:
        return bool(self._connection.scalar(self._unfinished))

    def publish(self, count: int) -> float:
        """Publish events for which no workflow waits; return the seconds of all."""
        began = time.perf_counter()
        for number in range(count):
            self._drive.publish(PAYMENT, {"cents": 1995}, key=f"none-{number}")
        return time.perf_counter() - began
