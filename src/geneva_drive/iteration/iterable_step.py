"""The argument `it` of a resumable step's body."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any, Literal, NoReturn, TypeVar, overload

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.durations import Duration
from geneva_drive.iteration.loop_backend import Query
from geneva_drive.iteration.loop_run import LoopRun
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.iteration.sources import csv_files, item_batches, pages, records, sequences
from geneva_drive.iteration.sources import nested as nested_loops
from geneva_drive.iteration.sources.csv_files import CsvRow, Path
from geneva_drive.iteration.sources.records import RecordBatch
from geneva_drive.iteration.throttle import Throttle, line_of_caller

T = TypeVar("T")
U = TypeVar("U")
Token = Any
Page = tuple[Iterable[T], Token]
Pairs = Iterable[tuple[T, Any]]


class LoopFields:
    """The fields of a loop, for async and plain bodies."""

    def __init__(self, run: LoopRun) -> None:
        self._run = run

    @property
    def name(self) -> str:
        """The step's name."""
        return self._run.name

    @property
    def description(self) -> str:
        return f"at {self.name!r}, cursor {shown(self.cursor)}"

    @property
    def cursor(self) -> Any:
        """The position at which the loop continues; None if there is no cursor yet."""
        return self._run.state.cursor

    @property
    def resumed(self) -> bool:
        """True if this run started from a saved cursor."""
        return self._run.resumed

    @property
    def advanced(self) -> bool:
        """True if the cursor was moved in this run."""
        return self._run.advanced

    def progress(self, total: int | Callable[[], int] | None = None) -> IterationProgress:
        """Return the progress of the step; `total` sets the number of all items."""
        return self._run.progress(total)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.description}>"


def run_of(it: LoopFields) -> LoopRun:
    """Return the `LoopRun` of `it`, for the library's own steps."""
    return it._run


class IterableStep(LoopFields):
    """The loops and the cursor of a resumable step.

    A loop over a method of `it` moves the cursor when the body asks for the next item, that is,
    after it has processed the current one. In a loop of your own, call `set` or `advance`. After a
    crash, the step continues from the last saved cursor.

    >>> import geneva_drive as gd
    >>> class Import(gd.Workflow):
    ...     @gd.resumable_step(checkpoint_every=100)
    ...     def rows(self, it):
    ...         for row in it.iterate_over_csv(self.context["path"]): ...
    """

    def set(self, value: Any) -> None:
        """Count an item as done, move the cursor, and checkpoint."""
        self._require_running()
        self._run.refuse_partitions("a loop of your own")
        self._run.set(value)

    def advance(self) -> None:
        """Add one to an integer cursor, and checkpoint; no cursor counts as 0."""
        cursor = 0 if not self._run.state.has_cursor else self.cursor
        if not isinstance(cursor, int) or isinstance(cursor, bool):
            raise TypeError(
                f"advance() needs an integer cursor, and the cursor of step {self.name!r} is "
                f"{shown(cursor)}. Move it with set(...)."
            )
        self.set(cursor + 1)

    def checkpoint(self) -> None:
        """Save the cursor now, and suspend here if the run must end."""
        self._run.checkpoint()

    def skip_to(self, value: Any, wait: Duration | None = None) -> NoReturn:
        """Move the cursor and suspend; the step continues from there, now or after `wait`."""
        self._require_running()
        self._run.skip_to(value, parse_span("skip_to(wait=...)", wait))

    @overload
    def iterate_over(
        self, iterable: Pairs[T], *, with_cursors: Literal[True], batch_size: None = None
    ) -> Iterator[T]: ...
    @overload
    def iterate_over(
        self, iterable: Pairs[T], *, with_cursors: Literal[True], batch_size: int
    ) -> Iterator[list[T]]: ...
    @overload
    def iterate_over(
        self,
        iterable: Iterable[T],
        *,
        with_cursors: Literal[False] = False,
        batch_size: None = None,
    ) -> Iterator[T]: ...
    @overload
    def iterate_over(
        self, iterable: Iterable[T], *, with_cursors: Literal[False] = False, batch_size: int
    ) -> Iterator[list[T]]: ...
    def iterate_over(
        self,
        iterable: Iterable[Any],
        *,
        with_cursors: bool = False,
        batch_size: int | None = None,
    ) -> Iterator[Any]:
        """Loop over an iterable, with the index of the next item as cursor.

        A sequence is read from that index on; other iterables are read from the start, and items
        already processed are dropped. With `with_cursors`, the iterable yields (item, cursor) pairs
        that start after `it.cursor`. With `batch_size`, the loop yields lists of items.
        """
        if with_cursors:
            self._run.refuse_partitions("a loop with your own cursors")
            return self._loop_over(sequences.given_pairs(iterable), batch_size)
        until = self._run.partition_end(partial(sequences.split, iterable))
        return self._loop_over(sequences.pairs(iterable, self.cursor, until), batch_size)

    def _loop_over(self, pairs: Iterator[tuple[Any, Any]], batch_size: int | None) -> Iterator[Any]:
        if batch_size is None:
            return self._run.loop_over(pairs)
        return self._run.loop_over(item_batches.group(pairs, batch_size))

    def iterate_over_records(
        self, query: Any, cursor: Any = "id", chunk: int = 1000
    ) -> Iterator[Any]:
        """Loop over the records of a select or a Django QuerySet, in the order of `cursor`.

        A select of one entity yields detached entities; any other select yields rows.
        """
        source = self._open(query, cursor)
        return self._run.loop_over(records.pairs(source, self.cursor, chunk))

    def iterate_over_record_batches(
        self, query: Any, *, batch_size: int, cursor: Any = "id"
    ) -> Iterator[RecordBatch]:
        """Loop over records in batches; each batch is fixed before the body gets it."""
        source = self._open(query, cursor)
        return self._run.loop_over(records.batch_pairs(source, self.cursor, batch_size))

    def _open(self, query: Any, cursor: Any) -> Query:
        source = self._run.backend.open_query(query, cursor)
        until = self._run.partition_end(source.split)
        return source if until is None else source.up_to(until)

    def iterate_over_pages(self, fetch: Callable[[Token], Page[T]]) -> Iterator[T]:
        """Loop over the items of pages: `fetch(token)` returns (items, next token).

        The first token is None. A next token of None ends the loop.
        """
        self._run.refuse_partitions("a loop over pages")
        return self._run.loop_over(pages.pairs(fetch, self.cursor, self._run.move_cursor))

    @overload
    def iterate_over_csv(
        self,
        path: Path,
        batch_size: None = None,
        *,
        encoding: str = "utf-8",
        **csv_options: Any,
    ) -> Iterator[CsvRow]: ...
    @overload
    def iterate_over_csv(
        self, path: Path, batch_size: int, *, encoding: str = "utf-8", **csv_options: Any
    ) -> Iterator[list[CsvRow]]: ...
    def iterate_over_csv(
        self,
        path: Path,
        batch_size: int | None = None,
        *,
        encoding: str = "utf-8",
        **csv_options: Any,
    ) -> Iterator[Any]:
        """Loop over the rows of a CSV file as dicts, or over lists of `batch_size` rows.

        The cursor is a byte offset and a checksum. Unless you set a total, `progress()` counts the
        bytes of the file.
        """
        self._run.refuse_partitions("a loop over a CSV file")
        pairs = csv_files.pairs(path, self.cursor, encoding=encoding, **csv_options)
        self._run.count_bytes(os.path.getsize(path))
        return self._loop_over(pairs, batch_size)

    def nested(self, outer: Pairs[T], inner: Callable[[T], Pairs[U]]) -> Iterator[tuple[T, U]]:
        """Loop over (outer item, inner item); both sources yield (item, cursor) pairs.

        Cursors must ascend on both levels. Items up to the saved cursor are dropped.
        """
        self._run.refuse_partitions("a nested loop")
        return self._run.loop_over(nested_loops.pairs(outer, inner, self.cursor))

    def throttle(self, condition: Callable[[], object], backoff: Duration) -> None:
        """Suspend for `backoff` while the condition is true; asked now and before each item."""
        self._require_running()
        span = parse_span("throttle(backoff=...)", backoff)
        self._run.throttle(Throttle(condition, span, line_of_caller(inspect.currentframe())))

    def _require_running(self) -> None:
        """Raise if the step is over, because an `EndedBackend` refuses every access."""
        _ = self._run.backend.commits_items


def parse_span(what: str, value: Duration | None) -> timedelta:
    return timedelta(0) if value is None else checks.duration(what, value)
