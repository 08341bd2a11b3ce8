"""The pace of a loop: when it saves its cursor, and when it stops by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from geneva_drive.states import Interruption


class Pace:
    """Counts the items of one run, and decides when to save and when to stop."""

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
        self._every_seconds = checkpoint_every.total_seconds() if is_timed else None  # type: ignore[union-attr]  # it is a timedelta
        self._every_items: int | None = None if is_timed else checkpoint_every  # type: ignore[assignment]  # it is an int
        self._max_iterations = max_iterations
        self._ends_at = None if max_runtime is None else now + max_runtime.total_seconds()
        self._late_from = None if timeout is None else now + timeout.total_seconds()
        self._should_stop = should_stop
        self._clock = clock
        self._saved_at = now
        self._items_saved = 0
        self.items = 0  # of this run
        self._has_moved_without_item = False
        self._is_overdue = False
        self._look_at = self._next_look()

    def item_done(self) -> bool:
        """Count an item; True if it may be time to save or to stop."""
        self.items += 1
        return self.items >= self._look_at or self._should_stop()

    def moved_without_item(self) -> None:
        """Make a save due, because finding no items, as in an empty page, took time as well."""
        self._has_moved_without_item = self._is_overdue = True

    def reached(self) -> Interruption | None:
        """Return the limit that the run has reached; None for a run without progress."""
        if self._should_stop():
            return Interruption.SHUTDOWN
        if not (self.items or self._has_moved_without_item):
            return None
        if self._max_iterations is not None and self.items >= self._max_iterations:
            return Interruption.MAX_ITERATIONS
        if self._ends_at is not None and self._clock() >= self._ends_at:
            return Interruption.MAX_RUNTIME
        return None

    def is_late(self) -> bool:
        """True if the run is past its timeout."""
        return self._late_from is not None and self._clock() > self._late_from

    def is_due(self) -> bool:
        """True if the cursor is to be saved now."""
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
        """Return the item count of the next check; with a time limit, the next item."""
        if self._every_items is None or self._ends_at is not None or self._late_from is not None:
            return 0
        next_save = self._items_saved + self._every_items
        return next_save if self._max_iterations is None else min(next_save, self._max_iterations)
