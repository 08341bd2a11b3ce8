"""One run of a resumable step: where its loop stands, and whether it goes on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

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
    """Read a number of items, which a database may give as another kind of number."""
    try:
        count = int(total)
    except (TypeError, ValueError, OverflowError):
        count = -1
    if count < 0 or isinstance(total, str):
        raise InvalidInput(
            f"progress(total=...) is {total!r}; it must be a whole number from 0 up, or a function "
            f"that gives one."
        )
    return count


class LoopRun:
    """What `it` works with: counts items, has positions saved, and ends the run when it is time."""

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
        self.is_between_items = False  # nothing was done that the cursor is not behind
        self._iteration_limit = iteration_limit
        self._partition = partition
        self.throttles = Throttles()
        self.has_begun = False  # an item, since the body was called
        self._is_looping = False
        self._item: tuple[Any, Any] | None = None  # what the body has now, and the cursor behind it
        self.is_awaited = False  # by an `async for`
        # One for each call of the body: a loop of an earlier call may be dropped at any time.
        self.exit = LoopExit()

    def begin_body(self) -> None:
        """Let the body start, or start again behind an item that it failed on."""
        self._is_looping = False
        self.is_between_items = False
        self._item = None
        self.exit = LoopExit()
        self.throttles.clear()
        self.has_begun = False

    def item_of(self, error: Exception) -> tuple[Any, Any] | None:
        """Return the item that the body raised on, with the cursor behind it; None if none is."""
        return self._item if self.exit.is_due_to(error) else None

    @property
    def has_item(self) -> bool:
        """True if the body has an item that the cursor is not behind."""
        return self._item is not None

    def through(self, pairs: Iterable[tuple[T, Any]]) -> Iterator[T]:
        """Loop over items; each moves the cursor when the body is through with it."""
        self.begin_loop()
        source = iter(pairs)
        # An `async for` notes its exit itself; the loop beneath it ends on another thread.
        loop_exit = LoopExit() if self.is_awaited else self.exit
        return Loop(lambda: self._through(source, loop_exit), loop_exit)

    def begin_loop(self) -> None:
        if self._is_looping:
            raise InvalidStateError(
                f"Step {self.name!r} has one cursor, and a second loop of `it` would start where "
                f"the first one stands. Use it.nested(...) for a loop in a loop, and a step of its "
                f"own for a loop after a loop."
            )
        self._is_looping = True

    def _through(
        self, pairs: Iterator[tuple[T, Any]], loop_exit: LoopExit
    ) -> Generator[T, None, None]:
        if self._item is not None:  # from a `for` that was left, and now another goes on
            self.pass_to(self._item[1])
        for pair in pairs:
            self.begin_item(pair)
            try:
                yield pair[0]
            except GeneratorExit:
                loop_exit.note(inspect.currentframe())
                raise
            self.pass_to(pair[1])
        self.backend.body_goes_on()

    def partition_end(self, split: Callable[[Any, int], Sequence[Any]]) -> Any:
        """Give the cursor that this run ends with, None for no end; or divide the step first."""
        partition = self._partition
        if partition.wanted > 1 and not partition.is_assigned:
            after = self.state.cursor
            raise PartitionsFound(after, split(after, partition.wanted))
        return partition.until

    def refuse_partitions(self, what: str) -> None:
        if self._partition.wanted > 1:
            raise InvalidStateError(
                f"Step {self.name!r} has partitions={self._partition.wanted}, which divides "
                f"records and sequences; {what} cannot be divided. Leave out partitions."
            )

    def begin_item(self, pair: tuple[Any, Any]) -> None:
        """Let the body have an item, which comes with the cursor behind it."""
        if self._iteration_limit is not None:
            self._check_limit(self._iteration_limit)
        if self.throttles:
            self._ask_throttles()
        self.has_begun = True
        self.backend.item_begins()
        self._item = pair

    def pass_to(self, cursor: Any) -> None:
        """Move on: an item is done, and the cursor is behind it."""
        self.has_begun = True
        self.backend.item_ends()
        if self._iteration_limit is not None:
            self._check_limit(self._iteration_limit)
        state = self.state
        state.cursor = cursor
        state.has_cursor = True
        state.completed += 1
        self._item = None
        self.advanced = True
        if self.pace.item_done():
            self._look_around()

    def set(self, cursor: Any) -> None:
        """Move on in a loop of the body's own."""
        if self._is_looping:
            raise InvalidStateError(
                f"Step {self.name!r} has a loop of `it`, which moves the cursor behind each of its "
                f"items; set() and advance() would move it away from there, and items would be "
                f"left out. Leave them out, or use skip_to(...) to go on from another place."
            )
        self.pass_to(cursor)
        if self.throttles:
            self._ask_throttles()
        self.backend.body_goes_on()

    def pass_by(self, cursor: Any) -> None:
        """Move the cursor where there was no item to do, and look around there."""
        self.state.cursor = cursor
        self.state.has_cursor = True
        self.advanced = True
        self.pace.passed_by()
        self._look_around()

    def skip_item(self) -> None:
        """Leave behind an item that the body failed on."""
        assert self._item is not None, "only an item of a loop of ours can be passed over"
        self.state.cursor = self._item[1]
        self.state.has_cursor = True
        self.state.completed += 1
        self.state.errors += 1
        if self.pace.item_done():
            self._look_around()

    def checkpoint(self) -> None:
        """Save the position now, and stop if it is time."""
        if self._item is not None and self.backend.commits_items:
            raise InvalidStateError(
                f"checkpoint() within an item of step {self.name!r} would commit a part of what "
                f"transaction=True keeps together, and the item would be done again after a crash. "
                f"Leave it out: the loop saves its cursor after each item."
            )
        self._save()
        if self.pace.is_late():
            raise RanTooLong
        reached = self.pace.reached()
        if reached is not None:
            raise Interrupted(reached)
        self.backend.body_goes_on()

    def skip_to(self, cursor: Any, wait: timedelta) -> None:
        self.backend.item_ends()
        if self._iteration_limit is not None:
            self._check_limit(self._iteration_limit)
        self.state.cursor = cursor
        self.state.has_cursor = True
        self.state.completed += 1
        self.advanced = True
        self.is_between_items = True
        raise Interrupted(Interruption.SKIP_TO, wait)

    def throttle(self, throttle: Throttle) -> None:
        """Suspend while a condition holds: looked at now, and before each further item."""
        self.keep(throttle)
        self.throttles.ask(throttle)

    def keep(self, throttle: Throttle) -> None:
        """Have a condition asked before each further item."""
        self.throttles.keep(throttle, has_begun=self.has_begun)

    def _ask_throttles(self) -> None:
        self.is_between_items = True
        self.throttles.ask_all()
        self.is_between_items = False

    def progress(self, total: int | Callable[[], int] | None) -> IterationProgress:
        """Note how many items there are; a callable is asked once for all runs."""
        if callable(total):
            total = total() if self.stopwatch.total is None else None
        if total is not None:
            self.stopwatch.total = _count(total)
        done = self.state.completed
        return IterationProgress.read(done, self.stopwatch.read(done))

    def _look_around(self) -> None:
        """Save the position behind an item, or end the run there, if it is time."""
        self.is_between_items = True
        if self.pace.is_late():
            # Else a transaction of many items would be rolled back, and never come further.
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
