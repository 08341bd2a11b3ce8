"""The back-off of the library's own retries: each delay is twice the one before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

_MAX_DOUBLINGS = 30  # keeps the number finite, however often something is retried


@dataclass(frozen=True, slots=True)
class InternalBackoff:
    """The delays of one kind of retry.

    >>> delay = InternalBackoff(first=timedelta(seconds=1), longest=timedelta(seconds=5))
    >>> [delay.before(retry) for retry in (1, 2, 3, 4)]
    [1.0, 2.0, 4.0, 5.0]
    """

    first: timedelta
    longest: timedelta = timedelta.max

    def before(self, retry: int) -> float:
        """Return the seconds to wait before this retry; the first retry is number 1."""
        doubled = self.first.total_seconds() * 2.0 ** min(retry - 1, _MAX_DOUBLINGS)
        return min(doubled, self.longest.total_seconds())
