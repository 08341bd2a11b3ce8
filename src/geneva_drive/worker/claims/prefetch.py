"""How many executions to claim ahead, given the rate at which this worker completes steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# Claim ahead the steps that will be done within this time. It is long enough that no thread waits
# for a claim and that commits come in groups, and so short that another worker would hardly begin
# them earlier.
_AHEAD = 0.05
_MOST_AHEAD = 500
_MEASURED_OVER = 0.02
_FORGOTTEN_AFTER = 0.2  # seconds in which no step ended: the steps due now may take much longer
# If commits are slow (a remote database), claim more ahead: with few steps running during a commit,
# the next group of outcomes would be just as small.
_COMMITS_AHEAD = 2
_LONGEST_COMMIT = 0.5  # a longer one is an outage, during which other workers should claim


class Prefetch:
    """Measures steps per second, and the time that commits take.

    A worker whose steps take seconds claims nothing ahead: another worker could begin it sooner.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._count = 0
        self._since = clock()
        self._rate = 0.0
        self._commit = 0.0  # seconds
        self._staying = 0.0  # the share of ended steps whose thread got a next step

    def committed(self, seconds: float) -> None:
        """Note how long the commit of a group took."""
        with self._lock:
            self._commit = min(_LONGEST_COMMIT, (self._commit + seconds) / 2)

    @property
    def leaves(self) -> bool:
        """True if most steps of the last group left their thread without a next step."""
        return self._staying < 0.5  # noqa: PLR2004 - most

    def ended(self, count: int, followed: int = 0) -> None:
        """Count ended steps, of which `followed` have a next step that starts immediately."""
        with self._lock:
            self._count += count
            self._staying = followed / count
            now = self._clock()
            elapsed = now - self._since
            if elapsed >= _MEASURED_OVER:
                self._rate = (self._rate + self._count / elapsed) / 2
                self._count, self._since = 0, now

    def stalled(self) -> None:
        """Claim nothing ahead until steps end again: waiting claims had to be released."""
        with self._lock:
            self._rate = 0.0

    def ahead(self) -> int:
        span = max(_AHEAD, _COMMITS_AHEAD * self._commit)
        if self._clock() - self._since > max(_FORGOTTEN_AFTER, 2 * span):
            return 0
        return min(_MOST_AHEAD, int(self._rate * span))
