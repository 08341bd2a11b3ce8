"""How fast a worker gets its steps done, and so how many to hold ready."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# What would be done within this time is held ready: enough that no thread waits for a claim and
# commits come in groups, and so little that nobody else could have begun it much earlier.
_AHEAD = 0.05
_MOST_AHEAD = 500
_MEASURED_OVER = 0.02
_FORGOTTEN_AFTER = 0.2  # seconds in which nothing ended: what is due now may take much longer
# Where a commit takes long, be it that the database is far away, more has to be done by the time
# that the next one begins, or each would carry as little as the one before.
_COMMITS_AHEAD = 2
_LONGEST_COMMIT = 0.5  # more than that is an outage, for which nobody else's work is held


class Prefetch:
    """Steps per second, as of just now.

    Of steps that take seconds nothing is held ready: another worker would have begun them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._count = 0
        self._since = clock()
        self._rate = 0.0
        self._commit = 0.0  # seconds
        self._staying = 0.0  # the share of what ended that had something to go on with

    def committed(self, seconds: float) -> None:
        """Note how long it took to commit a group."""
        with self._lock:
            self._commit = min(_LONGEST_COMMIT, (self._commit + seconds) / 2)

    @property
    def leaves(self) -> bool:
        """Say whether most of what ended lately had nothing that its thread could go on with."""
        return self._staying < 0.5  # noqa: PLR2004 - most

    def ended(self, count: int, followed: int = 0) -> None:
        """Note that steps have ended, of which some are followed by others at once."""
        with self._lock:
            self._count += count
            self._staying = followed / count
            now = self._clock()
            elapsed = now - self._since
            if elapsed >= _MEASURED_OVER:
                self._rate = (self._rate + self._count / elapsed) / 2
                self._count, self._since = 0, now

    def stalled(self) -> None:
        """Hold nothing ready until steps end again: what was held had to be given back."""
        with self._lock:
            self._rate = 0.0

    def ahead(self) -> int:
        span = max(_AHEAD, _COMMITS_AHEAD * self._commit)
        if self._clock() - self._since > max(_FORGOTTEN_AFTER, 2 * span):
            return 0
        return min(_MOST_AHEAD, int(self._rate * span))
