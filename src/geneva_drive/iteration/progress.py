"""How far a loop has come, over all its runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

_EVERY_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationProgress:
    """Items done, of how many, in how much time of running."""

    done: int
    total: int | None  # of the whole step, also in the progress of one of its partitions
    elapsed: timedelta
    # The items of that time, where more are done by now.
    measured: int | None = field(default=None, compare=False, repr=False)
    is_over: bool = field(default=False, compare=False, repr=False)  # nothing is left to do
    # To a cursor: it counts from there, and nobody knows how many of the total lie before it.
    is_rewound: bool = field(default=False, compare=False, repr=False)

    @property
    def rate(self) -> float | None:
        """Items per second."""
        seconds, items = self.elapsed.total_seconds(), self.measured or self.done
        return items / seconds if seconds and items else None

    @property
    def remaining(self) -> timedelta | None:
        """The time left at this rate; None while that is anybody's guess."""
        if self.is_over:
            return timedelta(0)
        if self.total is None or self.rate is None or self.is_rewound:
            return None
        return timedelta(seconds=max(0, self.total - self.done) / self.rate)

    @property
    def fraction(self) -> float | None:
        if self.total is None or self.is_rewound:
            return None
        return min(1.0, self.done / self.total) if self.total else 1.0

    @classmethod
    def read(
        cls, done: int, stored: dict[str, Any] | None, *, is_over: bool = False
    ) -> IterationProgress:
        stored = stored or {}
        return cls(
            done=done,
            total=stored.get("total"),
            elapsed=timedelta(seconds=stored.get("seconds", 0.0)),
            measured=stored.get("done"),
            is_over=is_over,
            is_rewound="rewound" in stored,
        )


class Stopwatch:
    """The time that a loop has been running, earlier runs included, and its total."""

    def __init__(
        self, stored: dict[str, Any] | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        stored = stored or {}
        self.total: int | None = stored.get("total")
        self._marks = {"rewound": True} if "rewound" in stored else {}
        self._before = float(stored.get("seconds", 0.0))
        self._clock = clock
        self._started_at = clock()
        self._written_at = self._started_at - _EVERY_SECONDS  # with the first checkpoint

    def read(self, done: int) -> dict[str, Any]:
        """Give what is stored of it."""
        seconds = self._before + self._clock() - self._started_at
        return {"total": self.total, "seconds": round(seconds, 3), "done": done, **self._marks}

    def is_due(self) -> bool:
        """Say whether it was not written for a second."""
        return self._clock() - self._written_at >= _EVERY_SECONDS

    def written(self) -> None:
        self._written_at = self._clock()
