"""The argument `batch` of a batch worker's body, and what the body returns to be called again."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.async_iterable_step import AsyncIterableStep
from geneva_drive.iteration.loop_run import LoopRun
from geneva_drive.iteration.sources import async_sources, sequences

OnItemError = Literal["stop", "skip"]
OpenItems = Callable[[Any], Iterator[tuple[Any, Any]]]


@dataclass(frozen=True, slots=True)
class CheckpointYield:
    """What `batch.checkpoint_yield()` makes: return it to be called again from its cursor."""

    cursor: Any
    items_processed: int
    accumulated_results: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPart:
    """The range of one worker, as its batch made it."""

    id: str
    start: Any
    end: Any
    metadata: Any
    size: int | None  # of an integer range
    checkpoint_interval: int
    own_items: OpenItems  # from a position on, each with its cursor


class BatchFields:
    """What a body can read of its batch, async or not."""

    def __init__(self, run: LoopRun, part: BatchPart, accumulated_results: Any = None) -> None:
        self._run = run
        self._part = part
        self._accumulated_results = accumulated_results
        self._began_at = (self.position, self.items_processed)

    @property
    def id(self) -> str:
        """The number of the worker, such as "001"."""
        return self._part.id

    @property
    def start(self) -> Any:
        """The first item of the range."""
        return self._part.start

    @property
    def end(self) -> Any:
        """The end of the range, which is not part of it."""
        return self._part.end

    @property
    def metadata(self) -> Any:
        """The metadata that the batch gave this range."""
        return self._part.metadata

    @property
    def checkpoint_interval(self) -> int:
        """After how many items a checkpoint is due."""
        return self._part.checkpoint_interval

    @property
    def position(self) -> Any:
        """Where to continue: the cursor of the checkpoint, or `start` without one."""
        return self._run.state.cursor if self.has_checkpoint else self._part.start

    @property
    def has_checkpoint(self) -> bool:
        return self._run.state.has_cursor

    @property
    def items_processed(self) -> int:
        """The items done so far, in all calls and attempts."""
        return self._run.state.completed

    @property
    def accumulated_results(self) -> Any:
        """What the last yield passed on; None without one."""
        return self._accumulated_results

    def checkpoint_yield(
        self,
        cursor: Any = None,
        items_processed: int | None = None,
        accumulated_results: Any = None,
    ) -> CheckpointYield:
        """Return this from the body to save a checkpoint and be called again at `cursor`.

        `items_processed` counts the items since the start of the range. After a crash, the worker
        continues from the last checkpoint that was saved.

        >>> import geneva_drive as gd
        >>> class Sums(gd.Workflow):
        ...     @gd.batch(checkpoint_interval=200)
        ...     def rows(self): return gd.Batches.split(total=1_000, batch_size=500)
        ...     @rows.worker
        ...     def process(self, batch):
        ...         end = min(batch.position + batch.checkpoint_interval, batch.end)
        ...         total = (batch.accumulated_results or 0) + sum(range(batch.position, end))
        ...         if end == batch.end:
        ...             return total
        ...         return batch.checkpoint_yield(end, end - batch.start, total)
        ...     @rows.aggregate
        ...     def summarize(self, results): return sum(results.by_worker.values())
        """
        what = f"checkpoint_yield() of batch {self.id}"
        if cursor is None:
            raise InvalidInput(
                f"{what} needs a cursor, from which the worker continues. Pass cursor=..., such as "
                f"the position of the next item."
            )
        done = checks.whole_number(
            f"{what}: items_processed",
            items_processed,
            at_least=self.items_processed,
            hint=" It counts all items of the range that are done, those of earlier calls too.",
        )
        if (cursor, done) == self._began_at:
            raise InvalidInput(
                f"{what} has the cursor {shown(cursor)} and {done} items processed, which is where "
                f"this call started, so the worker would never end. Yield after items are done, "
                f"and return the result after the last one."
            )
        return CheckpointYield(cursor, done, accumulated_results)

    def _choose(self, on_error: OnItemError) -> None:
        action = checks.choice("items(on_error=...)", on_error, ("stop", "skip"))
        self._run.skips_errors = action == "skip"

    def _own_items(self) -> Iterator[tuple[Any, Any]]:
        return self._part.own_items(self.position)

    @property
    def _indexes(self) -> tuple[int, int | None]:
        """The index at which to continue in an iterable, and the one at which to end."""
        if self._part.size is None:
            return sequences.index_of(self._run.state.cursor), None
        if self.start < 0:
            raise InvalidInput(
                f"Batch {self.id} covers {self.start} to {self.end}, and no sequence has a "
                f"negative index. Call items() without an iterable to loop over the numbers."
            )
        return sequences.index_of(self.position), self.end

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} at {shown(self.position)}>"


class Batch(BatchFields):
    """The range of a batch worker, and where its last checkpoint left it.

    Either loop over `items()`, which saves checkpoints as it goes, or do some items and return
    `checkpoint_yield(...)`: the checkpoint is saved, and then the body is called again.
    """

    def items(
        self, iterable: Iterable[Any] | None = None, on_error: OnItemError = "stop"
    ) -> Iterator[Any]:
        """Loop over the items of the range from `position` on, and save checkpoints.

        With an iterable: its items from index `start` up to `end`; all of them if the bounds are
        not integers. Without one: the records or rows of `Batches.over` or `Batches.csv`, or the
        numbers of an integer range. A total in a variable does not survive a crash: pass it on
        with `checkpoint_yield`, or add it up in a table of your own.

        `on_error="skip"` skips items that raise; `workflow.failed_items(...)` lists them.
        """
        self._choose(on_error)
        if iterable is None:
            return self._run.loop_over(self._own_items())
        return self._run.loop_over(sequences.pairs(iterable, *self._indexes))


class AsyncBatch(BatchFields):
    """`gd.Batch` for `async def`: its loop is for `async for`."""

    def items(
        self,
        iterable: Iterable[Any] | AsyncIterable[Any] | None = None,
        on_error: OnItemError = "stop",
    ) -> AsyncIterator[Any]:
        """Loop over the items of the range from `position` on, like `gd.Batch.items`."""
        self._choose(on_error)
        step = AsyncIterableStep(self._run)
        if isinstance(iterable, AsyncIterable):
            pairs = async_sources.pairs(iterable, *self._indexes)
            return step.iterate_over(pairs, with_cursors=True)
        return step.iterate_over(self._lazy_pairs(iterable), with_cursors=True)

    def _lazy_pairs(self, iterable: Iterable[Any] | None) -> Iterator[tuple[Any, Any]]:
        """Yield the pairs; a generator begins on the thread that reads it, and may block there."""
        if iterable is None:
            yield from self._own_items()
        else:
            yield from sequences.pairs(iterable, *self._indexes)
