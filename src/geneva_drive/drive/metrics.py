"""Counters for monitoring: ended executions, their durations, and stored checkpoints.

They are read from the database on request, so they cost workers nothing. They count the whole
installation, from the start of this process on.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

# In seconds: from a step that does nothing to one that takes an hour.
BUCKETS = (0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 600.0, 3600.0)
_SETTLING = timedelta(seconds=5)  # how long after an execution's end its commit may come
_MOST_AT_ONCE = 20_000  # rows; a scrape that finds more continues at the next one


@dataclass(slots=True)
class Durations:
    """A histogram of seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class EndCounters:
    """Counts what has ended since the process started; each call reads the new rows."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._lock = threading.Lock()
        self._counted_until = drive.clock.now()
        self._last_checkpoint: object = None
        self._has_begun = False
        self.executions: Counter[tuple[str, str]] = Counter()  # by type and outcome
        self.durations: dict[str, Durations] = {}  # by type
        self.checkpoints: Counter[str] = Counter()  # by reason

    def read(self) -> None:
        """Add what is new."""
        with self._lock:
            self._drive.store.read(self._read)

    def _read(self, connection: Connection) -> None:
        counts = self._drive.store.ended_counts
        until = self._drive.clock.now() - _SETTLING
        if until > self._counted_until:
            found = counts.ended(connection, self._counted_until, until, _MOST_AT_ONCE)
            for one in found:
                name = one.type or "dynamic"
                self.executions[name, one.outcome or ""] += 1
                if one.started_at is not None:
                    seconds = (one.finished_at - one.started_at).total_seconds()
                    self.durations.setdefault(name, Durations()).add(max(0.0, seconds))
            is_all = len(found) < _MOST_AT_ONCE
            self._counted_until = until if is_all else found[-1].finished_at
        last = counts.last_checkpoint(connection)
        if self._has_begun and last != self._last_checkpoint:
            self.checkpoints.update(
                dict(counts.checkpoints_after(connection, self._last_checkpoint))
            )
        self._last_checkpoint, self._has_begun = last, True
