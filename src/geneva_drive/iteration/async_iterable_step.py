"""The argument `it` of a resumable step's `async def` body."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from typing import Any, Literal, NoReturn, TypeVar, overload

from geneva_drive.durations import Duration
from geneva_drive.iteration import maybe_async
from geneva_drive.iteration.iterable_step import (
    IterableStep,
    LoopFields,
    Page,
    Pairs,
    Token,
    parse_span,
)
from geneva_drive.iteration.loop import AsyncLoop
from geneva_drive.iteration.loop_run import LoopRun
from geneva_drive.iteration.sources import async_sources, item_batches
from geneva_drive.iteration.sources.csv_files import CsvRow, Path
from geneva_drive.iteration.sources.records import RecordBatch
from geneva_drive.iteration.throttle import Throttle, line_of_caller, suspend_if

T = TypeVar("T")
U = TypeVar("U")
AnyPairs = Pairs[T] | AsyncIterable[tuple[T, Any]]


class AsyncIterableStep(LoopFields):
    """`gd.IterableStep` for `async def` steps, with `async for` loops and awaitable methods.

    Calls that wait for the database or a file run on a thread.
    """

    def __init__(self, run: LoopRun) -> None:
        super().__init__(run)
        run.is_awaited = True
        self._step = IterableStep(run)

    async def set(self, value: Any) -> None:
        await asyncio.to_thread(self._step.set, value)

    async def advance(self) -> None:
        await asyncio.to_thread(self._step.advance)

    async def checkpoint(self) -> None:
        await asyncio.to_thread(self._step.checkpoint)

    async def skip_to(self, value: Any, wait: Duration | None = None) -> NoReturn:
        self._step.skip_to(value, wait)

    @overload
    def iterate_over(
        self, iterable: AnyPairs[T], *, with_cursors: Literal[True], batch_size: None = None
    ) -> AsyncIterator[T]: ...
    @overload
    def iterate_over(
        self, iterable: AnyPairs[T], *, with_cursors: Literal[True], batch_size: int
    ) -> AsyncIterator[list[T]]: ...
    @overload
    def iterate_over(
        self,
        iterable: Iterable[T] | AsyncIterable[T],
        *,
        with_cursors: Literal[False] = False,
        batch_size: None = None,
    ) -> AsyncIterator[T]: ...
    @overload
    def iterate_over(
        self,
        iterable: Iterable[T] | AsyncIterable[T],
        *,
        with_cursors: Literal[False] = False,
        batch_size: int,
    ) -> AsyncIterator[list[T]]: ...
    def iterate_over(
        self,
        iterable: Iterable[Any] | AsyncIterable[Any],
        *,
        with_cursors: bool = False,
        batch_size: int | None = None,
    ) -> AsyncIterator[Any]:
        if not isinstance(iterable, AsyncIterable):
            # The overloads take literals, but these values are known only at run time.
            begin: Callable[..., Iterator[Any]] = self._step.iterate_over
            return self._awaited(
                lambda: begin(iterable, with_cursors=with_cursors, batch_size=batch_size)
            )
        self._run.refuse_partitions("an async iterable")
        pairs = (
            async_sources.given_pairs(iterable)
            if with_cursors
            else async_sources.pairs(iterable, self.cursor)
        )
        if batch_size is None:
            return self._loop_over(pairs)
        return self._loop_over(item_batches.group_async(pairs, batch_size))

    def iterate_over_records(
        self, query: Any, cursor: Any = "id", chunk: int = 1000
    ) -> AsyncIterator[Any]:
        return self._awaited(lambda: self._step.iterate_over_records(query, cursor, chunk))

    def iterate_over_record_batches(
        self, query: Any, *, batch_size: int, cursor: Any = "id"
    ) -> AsyncIterator[RecordBatch]:
        return self._awaited(
            lambda: self._step.iterate_over_record_batches(
                query, batch_size=batch_size, cursor=cursor
            )
        )

    def iterate_over_pages(
        self, fetch: Callable[[Token], Awaitable[Page[T]] | Page[T]]
    ) -> AsyncIterator[T]:
        self._run.refuse_partitions("a loop over pages")
        return self._loop_over(async_sources.pages(fetch, self.cursor, self._run.move_cursor))

    @overload
    def iterate_over_csv(
        self,
        path: Path,
        batch_size: None = None,
        *,
        encoding: str = "utf-8",
        **csv_options: Any,
    ) -> AsyncIterator[CsvRow]: ...
    @overload
    def iterate_over_csv(
        self, path: Path, batch_size: int, *, encoding: str = "utf-8", **csv_options: Any
    ) -> AsyncIterator[list[CsvRow]]: ...
    def iterate_over_csv(
        self, path: Path, batch_size: int | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        begin: Callable[..., Iterator[Any]] = self._step.iterate_over_csv
        return self._awaited(lambda: begin(path, batch_size, **options))

    def nested(
        self,
        outer: AnyPairs[T] | Awaitable[AnyPairs[T]],
        inner: Callable[[T], AnyPairs[U] | Awaitable[AnyPairs[U]]],
    ) -> AsyncIterator[tuple[T, U]]:
        """Loop over (outer item, inner item); both sources may be async."""
        self._run.refuse_partitions("a nested loop")
        return self._loop_over(async_sources.nested(outer, inner, self.cursor))

    def throttle(self, condition: Callable[[], object], backoff: Duration) -> Awaitable[None]:
        """Suspend for `backoff` while the condition is true; it is called now and before each item.

        An async condition is awaited before each item. To call it now, write `await
        it.throttle(...)`; within an item, it is called only then.
        """
        span = parse_span("throttle(backoff=...)", backoff)
        throttle = Throttle(condition, span, line_of_caller(inspect.currentframe()))
        self._run.keep(throttle)
        if not inspect.iscoroutinefunction(condition):
            answer = condition()
            if not inspect.isawaitable(answer):
                suspend_if(answer, span)
                return _ThrottleResult()
            maybe_async.discard(answer)
        self._run.throttles.await_result = _awaiter_on(asyncio.get_running_loop())
        # Within an item, only the caller can await it; if they forget, Python warns about the
        # coroutine.
        return _await_condition(throttle) if self._run.has_begun else _ThrottleResult(throttle)

    def _awaited(self, begin: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
        return AsyncLoop(async_sources.on_a_thread(begin), self._run.exit)

    def _loop_over(self, pairs: AsyncIterator[tuple[T, Any]]) -> AsyncIterator[T]:
        self._run.begin_loop()
        return AsyncLoop(self._items(pairs), self._run.exit)

    async def _items(self, pairs: AsyncIterator[tuple[T, Any]]) -> AsyncGenerator[T, None]:
        async for pair in pairs:
            if self._run.throttles:  # a condition may block
                await asyncio.to_thread(self._run.begin_item, pair)
            else:
                self._run.begin_item(pair)
            yield pair[0]
            await asyncio.to_thread(self._run.finish_item, pair[1])
        await asyncio.to_thread(self._run.backend.body_goes_on)


class _ThrottleResult:
    """The result of throttle(), which need not be awaited."""

    def __init__(self, throttle: Throttle | None = None) -> None:
        self._throttle = throttle

    def __await__(self) -> Generator[Any, None, None]:
        if self._throttle is not None:
            yield from _await_condition(self._throttle).__await__()


async def _await_condition(throttle: Throttle) -> None:
    suspend_if(await maybe_async.awaited(throttle.condition), throttle.backoff)


def _awaiter_on(event_loop: asyncio.AbstractEventLoop) -> Callable[[Any], Any]:
    """Return a function that other threads call to await a result on the event loop."""

    async def answered(answer: Awaitable[Any]) -> Any:
        return await answer

    def await_result(answer: Awaitable[Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(answered(answer), event_loop).result()

    return await_result
