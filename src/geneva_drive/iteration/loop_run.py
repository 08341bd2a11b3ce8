"""One run of a loop: pass items to the body, move and save the cursor, end the run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, NoReturn, TypeVar

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, InvalidStateError, IterationLimitExceeded
from geneva_drive.iteration.interruption import Interrupted, PartitionsFound, RanTooLong
from geneva_drive.iteration.loop import Loop
from geneva_drive.iteration.loop_backend import LoopBackend
from geneva_drive.iteration.loop_exit import LoopExit
from geneva_drive.iteration.loop_state import UNDIVIDED, LoopState, Partitioning
from geneva_drive.iteration.pace import Pace
from geneva_drive.iteration.progress import IterationProgress, Stopwatch
from geneva_drive.iteration.throttle import Throttle, Throttles
from geneva_drive.states import Interruption

T = TypeVar("T")


def _count(total: Any) -> int:
    """Return `total` as an int; a database may count in another type, such as Decimal."""
    try:
        count = int(total)
    except (TypeError, ValueError, OverflowError):
        count = -1
    if count < 0 or isinstance(total, str):
        raise InvalidInput(
            f"progress(total=...) is {shown(total)}; it must be a whole number from 0 up, or a "
            f"function that returns one."
        )
    return count


class LoopRun:
    """The run of `it`: counts items, moves the cursor, and saves it or stops when that is due.

    The cursor of an item lies after it: a run that starts from there begins with the next item.
    """

    def __init__(
        self,
        name: str,
        state: LoopState,
        backend: LoopBackend,
        pace: Pace,
        stopwatch: Stopwatch,
        iteration_limit: int | None = None,
        partition: Partitioning = UNDIVIDED,
    ) -> None:
        self.name = name
        self.state = state
        self.backend = backend
        self.pace = pace
        self.stopwatch = stopwatch
        self.resumed = state.has_cursor
        self.advanced = False
        self.is_between_items = False  # the cursor covers all items that are done
        self._iteration_limit = iteration_limit
        self._partition = partition
        self.throttles = Throttles()
        self.skips_errors = False  # an item that raises is skipped
        self.has_begun = False  # the body has got an item since it was called
        self._is_looping = False
        self._item: tuple[Any, Any] | None = None  # the current item, and the cursor after it
        self.is_awaited = False  # by an `async for`
        # A new one for each call of the body, as a loop of an earlier call may be dropped at any
        # time.
        self.exit = LoopExit()

    def begin_body(self) -> None:
        """Reset the fields of one call of the body, which is called again after a skipped item."""
        self._is_looping = False
        self.is_between_items = False
        self._item = None
        self.exit = LoopExit()
        self.throttles.clear()
        self.has_begun = False

    def item_of(self, error: Exception) -> tuple[Any, Any] | None:
        """Return the item that raised `error`, with its cursor; None if no item did."""
        return self._item if self.exit.is_due_to(error) else None

    @property
    def has_item(self) -> bool:
        """True if the body is working on an item, or left its loop during one."""
        return self._item is not None

    def loop_over(self, pairs: Iterable[tuple[T, Any]]) -> Iterator[T]:
        """Loop over items; the cursor moves when the body asks for the next one."""
        self.begin_loop()
        source = iter(pairs)
        # An `async for` records its exit itself; the loop inside it ends on another thread.
        loop_exit = LoopExit() if self.is_awaited else self.exit
        return Loop(lambda: self._items(source, loop_exit), loop_exit)

    def begin_loop(self) -> None:
        if self._is_looping:
            raise InvalidStateError(
                f"Step {self.name!r} has one cursor, and a second loop of `it` would start where "
                f"the first one is. Use it.nested(...) for a loop in a loop, and a step of its "
                f"own for a loop after a loop."
            )
        self._is_looping = True

    def _items(
        self, pairs: Iterator[tuple[T, Any]], loop_exit: LoopExit
    ) -> Generator[T, None, None]:
        if self._item is not None:  # an earlier `for` was left during this item
            self.finish_item(self._item[1])
        for pair in pairs:
            self.begin_item(pair)
            try:
                yield pair[0]
            except GeneratorExit:
                loop_exit.note(inspect.currentframe())
                raise
            self.finish_item(pair[1])
        self.backend.body_goes_on()

    def partition_end(self, split: Callable[[Any, int], Sequence[Any]]) -> Any:
        """Return the cursor at which this run ends, if any; raise if the step must be divided."""
        partition = self._partition
        if partition.wanted > 1 and not partition.is_assigned:
            after = self.state.cursor
            raise PartitionsFound(after, split(after, partition.wanted))
        return partition.until

    def refuse_partitions(self, what: str) -> None:
        if self._partition.wanted > 1:
            raise InvalidStateError(
                f"Step {self.name!r} has partitions={self._partition.wanted}, but only records and "
                f"sequences can be divided, not {what}. Remove partitions."
            )

    def begin_item(self, pair: tuple[Any, Any]) -> None:
        """Record that the body gets an item; raise if the run ends before it."""
        if self._iteration_limit is not None:
            self._check_limit(self._iteration_limit)
        if self.throttles:
            self._check_throttles()
        self.has_begun = True
        self.backend.item_begins()
        self._item = pair

    def finish_item(self, cursor: Any, count: int = 1) -> None:
        """Count an item as done and move the cursor after it; raise if the run ends there."""
        self.has_begun = True
        self.backend.item_ends()
        if self._iteration_limit is not None:
            self._check_limit(self._iteration_limit)
        state = self.state
        state.cursor = cursor
        state.has_cursor = True
        state.completed += count
        self._item = None
        self.advanced = True
        if self.pace.item_done():
            self._save_or_stop()

    def set(self, cursor: Any, count: int = 1) -> None:
        """Move the cursor in a loop that the body wrote itself."""
        if self._is_looping:
            raise InvalidStateError(
                f"Step {self.name!r} has a loop of `it`, which moves the cursor itself. set() and "
                f"advance() would move it elsewhere, and items would be lost. Remove them, or use "
                f"skip_to(...) to continue from another cursor."
            )
        self.finish_item(cursor, count)
        if self.throttles:
            self._check_throttles()
        self.backend.body_goes_on()

    def move_cursor(self, cursor: Any) -> None:
        """Move the cursor without an item, as after an empty page; raise if the run ends there."""
        self.state.cursor = cursor
        self.state.has_cursor = True
        self.advanced = True
        self.pace.moved_without_item()
        self._save_or_stop()

    def yield_at(self, cursor: Any, completed: int) -> None:
        """Move to the cursor that a body yielded and save it; raise if the run ends there."""
        self.state.cursor = cursor
        self.state.has_cursor = True
        self.state.completed = completed
        self._item = None
        self.advanced = True
        self.is_between_items = True
        self.pace.item_done()
        self.checkpoint()
        self.is_between_items = False

    def skip_item(self) -> None:
        """Move the cursor after the item that raised; raise if the run ends there."""
        assert self._item is not None, "only an item of a loop of `it` can be skipped"
        self.state.cursor = self._item[1]
        self.state.has_cursor = True
        self.state.completed += 1
        self.state.errors += 1
        if self.pace.item_done():
            self._save_or_stop()

    def checkpoint(self) -> None:
        """Save the cursor now; raise if the run ends here."""
        if self._item is not None and self.backend.commits_items:
            raise InvalidStateError(
                f"checkpoint() within an item of step {self.name!r} would commit a part of its "
                f"writes, and the whole item would be done again after a crash. Remove it: with "
                f"transaction=True, the loop commits each item together with its cursor."
            )
        self._save()
        if self.pace.is_late():
            raise RanTooLong
        reached = self.pace.reached()
        if reached is not None:
            raise Interrupted(reached)
        self.backend.body_goes_on()

    def skip_to(self, cursor: Any, wait: timedelta, count: int = 1) -> NoReturn:
        self.backend.item_ends()
        if self._iteration_limit is not None:
            self._check_limit(self._iteration_limit)
        self.state.cursor = cursor
        self.state.has_cursor = True
        self.state.completed += count
        self.advanced = True
        self.is_between_items = True
        raise Interrupted(Interruption.SKIP_TO, wait)

    def throttle(self, throttle: Throttle) -> None:
        """Suspend while a condition is true; call it now, and before each further item."""
        self.keep(throttle)
        self.throttles.ask(throttle)

    def keep(self, throttle: Throttle) -> None:
        """Call a condition before each further item."""
        self.throttles.keep(throttle, has_begun=self.has_begun)

    def _check_throttles(self) -> None:
        self.is_between_items = True
        self.throttles.check_all()
        self.is_between_items = False

    def progress(self, total: int | Callable[[], int] | None) -> IterationProgress:
        """Set the total number of items, and return the progress; a callable is called once."""
        stopwatch = self.stopwatch
        if callable(total):
            total = total() if stopwatch.total is None or stopwatch.counts_bytes else None
        if total is not None:
            stopwatch.total = _count(total)
            stopwatch.counts_bytes = False
        return IterationProgress.read(self.state.completed, self.stored_progress())

    def count_bytes(self, size: int) -> None:
        """Count the bytes of a file, whose offset begins each cursor, unless a total is set.

        After a rewind to a cursor, counting starts from there, and the total is unknown.
        """
        if self.stopwatch.total is None and not self.stopwatch.is_rewound:
            self.stopwatch.total = size
            self.stopwatch.counts_bytes = True

    def stored_progress(self) -> dict[str, Any]:
        """Return the value for the column `progress`."""
        return self.stopwatch.read(self.state.completed, self.state.cursor)

    def _save_or_stop(self) -> None:
        """Save the cursor after an item if a save is due; raise if the run ends there."""
        self.is_between_items = True
        if self.pace.is_late():
            # Without this save, a transaction of many items would be rolled back at each timeout,
            # and the loop would never advance.
            self._save()
            raise RanTooLong
        reached = self.pace.reached()
        if reached is not None:
            raise Interrupted(reached)
        if self.pace.is_due():
            self._save()
        self.is_between_items = False

    def _save(self) -> None:
        stop = self.backend.save(self.state)
        if stop is not None:
            raise Interrupted(stop)
        self.pace.saved()

    def _check_limit(self, limit: int) -> None:
        if self.state.completed >= limit:
            raise IterationLimitExceeded(self.name, limit)
