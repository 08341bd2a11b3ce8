"""When a loop saves its position, and when it stops by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from geneva_drive.states import Interruption


class Pace:
    """Counts what one run of a loop has done, and what of it is not saved yet."""

    def __init__(
        self,
        *,
        checkpoint_every: int | timedelta,
        max_iterations: int | None,
        max_runtime: timedelta | None,
        should_stop: Callable[[], bool],
        timeout: timedelta | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        now = clock()
        is_timed = isinstance(checkpoint_every, timedelta)
        self._every_seconds = checkpoint_every.total_seconds() if is_timed else None  # type: ignore[union-attr]  # so it is one
        self._every_items: int | None = None if is_timed else checkpoint_every  # type: ignore[assignment]  # so it is one
        self._max_iterations = max_iterations
        self._ends_at = None if max_runtime is None else now + max_runtime.total_seconds()
        self._late_from = None if timeout is None else now + timeout.total_seconds()
        self._should_stop = should_stop
        self._clock = clock
        self._saved_at = now
        self._items_saved = 0
        self.items = 0  # of this run
        self._has_passed_by = False  # a stretch without items
        self._is_overdue = False
        self._look_at = self._next_look()

    def item_done(self) -> bool:
        """Count an item, and say whether to look around: it may be time to save, or to end."""
        self.items += 1
        return self.items >= self._look_at or self._should_stop()

    def passed_by(self) -> None:
        """Note a stretch without items, which is worth a checkpoint: it has taken its time."""
        self._has_passed_by = self._is_overdue = True

    def reached(self) -> Interruption | None:
        """Say what the run has come to, if it is to end here; not where it began."""
        if self._should_stop():
            return Interruption.SHUTDOWN
        if not (self.items or self._has_passed_by):
            return None
        if self._max_iterations is not None and self.items >= self._max_iterations:
            return Interruption.MAX_ITERATIONS
        if self._ends_at is not None and self._clock() >= self._ends_at:
            return Interruption.MAX_RUNTIME
        return None

    def is_late(self) -> bool:
        """Say whether the step has been running for longer than it may."""
        return self._late_from is not None and self._clock() > self._late_from

    def is_due(self) -> bool:
        """Say whether the position is to be saved now."""
        if self._is_overdue:
            return True
        if self._every_seconds is not None:
            return self._clock() - self._saved_at >= self._every_seconds
        return self.items - self._items_saved >= self._every_items  # type: ignore[operator]  # one of the two is set

    def saved(self) -> None:
        self._is_overdue = False
        self._items_saved = self.items
        self._look_at = self._next_look()
        if self._every_seconds is not None:
            self._saved_at = self._clock()

    def _next_look(self) -> int:
        """Say after how many items to look around: behind each, where time counts."""
        if self._every_items is None or self._ends_at is not None or self._late_from is not None:
            return 0
        next_save = self._items_saved + self._every_items
        return next_save if self._max_iterations is None else min(next_save, self._max_iterations)
