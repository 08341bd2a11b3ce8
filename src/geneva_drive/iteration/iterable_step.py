"""What a resumable step's body calls `it`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any, Literal, NoReturn, TypeVar, overload

from geneva_drive import checks
from geneva_drive.durations import Duration
from geneva_drive.iteration.loop_backend import Query
from geneva_drive.iteration.loop_run import LoopRun, Query
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.iteration.sources import csv_files, pages, records, sequences
from geneva_drive.iteration.sources import nested as nested_source
from geneva_drive.iteration.sources.records import RecordBatch
from geneva_drive.iteration.throttle import Throttle, line_of_caller

T = TypeVar("T")
U = TypeVar("U")
Token = Any
Page = tuple[Iterable[T], Token]
Pairs = Iterable[tuple[T, Any]]


class IterableStep:
    """The loops of a resumable step, and the cursor that says where it goes on.

    A loop of `it` moves the cursor when it is asked for the next item, that is, after the body
    has done the last one. A loop of one's own does so with `set` or `advance`.

    >>> import geneva_drive as gd
    >>> class Import(gd.Workflow):
    ...     @gd.resumable_step(checkpoint_every=100)
    ...     def rows(self, it):
    ...         for row in it.iterate_over_csv(self.context["path"]): ...
    """

    def __init__(self, run: LoopRun) -> None:
        self._run = run

    @property
    def name(self) -> str:
        """The step's name."""
        return self._run.name

    @property
    def description(self) -> str:
        return f"at {self.name!r}, cursor {self.cursor!r}"

    @property
    def cursor(self) -> Any:
        """Where the loop goes on; None before there is a cursor."""
        return self._run.state.cursor

    @property
    def resumed(self) -> bool:
        """Whether this run started from a saved cursor."""
        return self._run.resumed

    @property
    def advanced(self) -> bool:
        """Whether the cursor was moved in this run."""
        return self._run.advanced

    def set(self, value: Any) -> None:
        """Move the cursor, and checkpoint: an item is done."""
        self._require_running()
        self._run.refuse_partitions("a loop of one's own")
        self._run.set(value)

    def advance(self) -> None:
        """Move an integer cursor on by one, and checkpoint; without a cursor, from 0."""
        cursor = 0 if not self._run.state.has_cursor else self.cursor
        if not isinstance(cursor, int) or isinstance(cursor, bool):
            raise TypeError(
                f"advance() counts an integer cursor on, and the cursor of step {self.name!r} is "
                f"{cursor!r}. Move it with set(...)."
            )
        self.set(cursor + 1)

    def checkpoint(self) -> None:
        """Save the cursor now, and stop here if it is time to."""
        self._run.checkpoint()

    def skip_to(self, value: Any, wait: Duration | None = None) -> NoReturn:
        """Move the cursor and suspend; the step goes on from there, now or after `wait`."""
        self._require_running()
        self._run.skip_to(value, parse_span("skip_to(wait=...)", wait))
        raise AssertionError("skip_to does not return")

    @overload
    def iterate_over(self, iterable: Pairs[T], *, with_cursors: Literal[True]) -> Iterator[T]: ...
    @overload
    def iterate_over(
        self, iterable: Iterable[T], *, with_cursors: Literal[False] = False
    ) -> Iterator[T]: ...
    def iterate_over(self, iterable: Iterable[Any], *, with_cursors: bool = False) -> Iterator[Any]:
        """Loop over anything, with the index as cursor; over a sequence without starting over.

        With `with_cursors` it is given pairs of item and cursor, which start after `it.cursor`.
        """
        if with_cursors:
            self._run.refuse_partitions("a loop with cursors of one's own")
            return self._run.through(sequences.given_pairs(iterable))
        until = self._run.partition_end(partial(sequences.split, iterable))
        return self._run.through(sequences.pairs(iterable, self.cursor, until))

    def iterate_over_records(
        self, query: Any, cursor: Any = "id", chunk: int = 1000
    ) -> Iterator[Any]:
        """Loop over the records of a select, or of a Django QuerySet, in the order of `cursor`.

        A select of one entity gives entities, detached; any other gives rows.
        """
        source = self._open(query, cursor)
        return self._run.through(records.pairs(source, self.cursor, chunk))

    def iterate_over_record_batches(
        self, query: Any, *, batch_size: int, cursor: Any = "id"
    ) -> Iterator[RecordBatch]:
        """Loop over the records of a select in batches, whose boundaries are fixed beforehand."""
        source = self._open(query, cursor)
        return self._run.through(records.batch_pairs(source, self.cursor, batch_size))

    def _open(self, query: Any, cursor: Any) -> Query:
        source = self._run.backend.open_query(query, cursor)
        until = self._run.partition_end(source.split)
        return source if until is None else source.up_to(until)

    def iterate_over_pages(self, fetch: Callable[[Token], Page[T]]) -> Iterator[T]:
        """Loop over what comes in pages: `fetch(token)` gives the items and the next token.

        The first token is None, and None ends it.
        """
        self._run.refuse_partitions("a loop over pages")
        return self._run.through(pages.pairs(fetch, self.cursor, self._run.pass_by))

    def iterate_over_csv(
        self, path: str | os.PathLike[str], *, encoding: str = "utf-8", **csv_options: Any
    ) -> Iterator[dict[str | None, Any]]:
        """Loop over the rows of a CSV file as dictionaries, going on at the byte where it stood."""
        self._run.refuse_partitions("a loop over a CSV file")
        return self._run.through(
            csv_files.pairs(path, self.cursor, encoding=encoding, **csv_options)
        )

    def nested(self, outer: Pairs[T], inner: Callable[[T], Pairs[U]]) -> Iterator[tuple[T, U]]:
        """Loop over a loop in a loop: pairs of item and cursor outside, and inside for each item.

        The cursors of each have to ascend; what is up to the saved cursor is passed over.
        """
        self._run.refuse_partitions("a nested loop")
        return self._run.through(nested_source.pairs(outer, inner, self.cursor))

    def progress(self, total: int | Callable[[], int] | None = None) -> IterationProgress:
        """Say how many items there are in all, so that others see how far it is."""
        return self._run.progress(total)

    def throttle(self, condition: Callable[[], object], backoff: Duration) -> None:
        """Suspend for `backoff` whenever the condition holds: now, and before each next item."""
        self._require_running()
        span = parse_span("throttle(backoff=...)", backoff)
        self._run.throttle(Throttle(condition, span, line_of_caller(inspect.currentframe())))

    def _require_running(self) -> None:
        """Raise if the step is over: the backend of an ended loop refuses every access."""
        _ = self._run.backend.commits_items

    def __repr__(self) -> str:
        return f"<IterableStep {self.description}>"


def parse_span(what: str, value: Duration | None) -> timedelta:
    return timedelta(0) if value is None else checks.duration(what, value)
