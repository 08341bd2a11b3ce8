"""The progress of a loop, over all its runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

_EVERY_SECONDS = 1.0

Unit = Literal["items", "bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationProgress:
    """The items done, their total, and the time that the loop has been running.

    Without a total, a CSV file is counted in bytes: see `unit`.
    """

    done: int
    total: int | None  # of the whole step, also for one of its partitions
    elapsed: timedelta
    # The items done in `elapsed`, which is written less often than `done`.
    measured: int | None = field(default=None, compare=False, repr=False)
    is_over: bool = field(default=False, compare=False, repr=False)  # no item is left
    # Rewound to a cursor: items count from there, and the number before it is unknown.
    is_rewound: bool = field(default=False, compare=False, repr=False)
    unit: Unit = "items"  # of `done`, `total` and `rate`

    @property
    def rate(self) -> float | None:
        """Items, or bytes, per second."""
        seconds, items = self.elapsed.total_seconds(), self.measured or self.done
        return items / seconds if seconds and items else None

    @property
    def remaining(self) -> timedelta | None:
        """The time left at this rate; None while it cannot be estimated."""
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
        counts_bytes = "bytes" in stored
        return cls(
            done=stored["bytes"] if counts_bytes else done,
            total=stored.get("total"),
            elapsed=timedelta(seconds=stored.get("seconds", 0.0)),
            measured=stored.get("bytes" if counts_bytes else "done"),
            is_over=is_over,
            is_rewound="rewound" in stored,
            unit="bytes" if counts_bytes else "items",
        )


class Stopwatch:
    """Measures how long a loop has been running, over all its runs, and keeps its total."""

    def __init__(
        self, stored: dict[str, Any] | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        stored = stored or {}
        # Each loop reads the size of a file again, as it may have grown.
        self.total: int | None = None if "bytes" in stored else stored.get("total")
        self.counts_bytes = False
        self.is_rewound = "rewound" in stored
        self._before = float(stored.get("seconds", 0.0))
        self._clock = clock
        self._started_at = clock()
        self._written_at = self._started_at - _EVERY_SECONDS  # so the first checkpoint writes it

    def read(self, done: int, cursor: Any = None) -> dict[str, Any]:
        """Return what is stored in the column `progress`."""
        seconds = self._before + self._clock() - self._started_at
        stored = {"total": self.total, "seconds": round(seconds, 3), "done": done}
        if self.is_rewound:
            stored["rewound"] = True
        if self.counts_bytes:
            match cursor:
                case (int(offset), *_):
                    stored["bytes"] = offset
                case _:
                    stored["bytes"] = 0
        return stored

    def is_due(self) -> bool:
        """True if the progress was last written a second ago or earlier."""
        return self._clock() - self._written_at >= _EVERY_SECONDS

    def written(self) -> None:
        self._written_at = self._clock()
