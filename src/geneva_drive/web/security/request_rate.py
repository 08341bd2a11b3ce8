"""The rate limit on the requests of one principal or address, with the library `limits`."""

from __future__ import annotations

import math
import time

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from geneva_drive.limit import Rate


class RequestRate:
    """Counts requests in the memory of this process."""

    def __init__(self, rate: Rate) -> None:
        self.words = rate.words
        seconds = max(1, math.ceil(rate.period.total_seconds()))
        self._item = RateLimitItemPerSecond(rate.count, seconds)
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def seconds_to_wait(self, who: str) -> int | None:
        """Count a request; return how long to wait if it exceeds the rate, else None."""
        if self._limiter.hit(self._item, who):
            return None
        free_at = self._limiter.get_window_stats(self._item, who).reset_time
        return max(1, math.ceil(free_at - time.time()))
