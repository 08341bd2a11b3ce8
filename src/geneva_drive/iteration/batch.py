"""The argument `batch` of a batch worker's body, and the checkpoint yield that a body returns."""

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
    """A checkpoint yield: a body that returns it is called again at its cursor."""

    cursor: Any
    items_processed: int
    accumulated_results: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPart:
    """The range of one worker, as created by its batch."""

    id: str
    start: Any
    end: Any
    metadata: Any
    size: int | None  # of an integer range
    checkpoint_interval: int
    own_items: OpenItems  # opens the items from a position on, each with its cursor


class BatchFields:
    """The fields of a batch, for async and plain bodies."""

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
        """The end of the range, exclusive."""
        return self._part.end

    @property
    def metadata(self) -> Any:
        """The metadata of this range."""
        return self._part.metadata

    @property
    def checkpoint_interval(self) -> int:
        """The number of items between checkpoints."""
        return self._part.checkpoint_interval

    @property
    def position(self) -> Any:
        """The cursor of the last checkpoint, or `start` without one."""
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
        """The accumulated results of the last yield; None without one."""
        return self._accumulated_results

    def checkpoint_yield(
        self,
        cursor: Any = None,
        items_processed: int | None = None,
        accumulated_results: Any = None,
    ) -> CheckpointYield:
        """Return this from the body to save a checkpoint and to be called again at `cursor`.

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
            hint=" It counts all done items of the range, including those of earlier calls.",
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
        """The first and the end index of the remaining items of an iterable."""
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
    """The range of a batch worker, with the position and results of its last checkpoint.

    Either loop over `items()`, which saves checkpoints as it goes, or process some items and return
    `checkpoint_yield(...)`: the checkpoint is saved, and the body is called again.
    """

    def items(
        self, iterable: Iterable[Any] | None = None, on_error: OnItemError = "stop"
    ) -> Iterator[Any]:
        """Loop over the items of the range from `position` on, and save checkpoints.

        With an iterable, the items are those from index `start` up to `end`, or all of them if the
        bounds are not integers. Without one, they are the records or rows of `Batches.over` or
        `Batches.csv`, or the numbers of an integer range. A total in a variable does not survive a
        crash: pass it on with `checkpoint_yield`, or keep it in a table of your own.

        `on_error="skip"` skips items that raise; `workflow.failed_items(...)` lists them.
        """
        self._choose(on_error)
        if iterable is None:
            return self._run.loop_over(self._own_items())
        return self._run.loop_over(sequences.pairs(iterable, *self._indexes))


class AsyncBatch(BatchFields):
    """`gd.Batch` for `async def` workers, with an `async for` loop."""

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
        """Yield the pairs; a generator starts on the thread that reads it, and may block there."""
        if iterable is None:
            yield from self._own_items()
        else:
            yield from sequences.pairs(iterable, *self._indexes)
