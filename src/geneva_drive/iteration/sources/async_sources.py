"""Sources for `async for`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Iterator,
)
from typing import Any, TypeVar

from geneva_drive.iteration import maybe_async
from geneva_drive.iteration.sources import nested as nested_loops
from geneva_drive.iteration.sources import pages as plain_pages
from geneva_drive.iteration.sources import sequences

T = TypeVar("T")
_END: Any = object()


async def pairs(
    iterable: AsyncIterable[T], cursor: Any, until: int | None = None
) -> AsyncIterator[tuple[T, int]]:
    """Yield the items from the index `cursor` up to `until`, each with the index of the next."""
    sequences.refuse_queries(iterable)
    start = sequences.index_of(cursor)
    index = 0
    async for item in iterable:
        if index == until:
            return
        index += 1
        if index > start:
            yield item, index


async def given_pairs(iterable: AsyncIterable[Any]) -> AsyncIterator[tuple[Any, Any]]:
    async for pair in iterable:
        yield sequences.checked(pair)


async def nested(outer: Any, inner: Callable[[Any], Any], cursor: Any) -> AsyncIterator[Any]:
    """Yield each outer item with each of its inner items; both sources may be async."""
    saved = nested_loops.NestedCursor(cursor)
    outer = await outer if inspect.isawaitable(outer) else outer
    async for outer_item, outer_cursor in _pairs_of(outer):
        if not saved.enters(outer_cursor):
            continue
        async for inner_item, inner_cursor in _pairs_of(
            await maybe_async.awaited(inner, outer_item)
        ):
            if saved.reaches(inner_cursor):
                yield (outer_item, inner_item), (outer_cursor, inner_cursor)


async def _pairs_of(iterable: Any) -> AsyncIterator[tuple[Any, Any]]:
    if isinstance(iterable, AsyncIterable):
        async for pair in given_pairs(iterable):
            yield pair
    elif isinstance(iterable, Collection):
        for pair in sequences.given_pairs(iterable):
            yield pair
    else:  # reading the next item may block
        async for pair in on_a_thread(lambda: sequences.given_pairs(iterable)):
            yield pair


async def on_a_thread(begin: Callable[[], Iterator[T]]) -> AsyncGenerator[T, None]:
    """Create a plain iterator and read its items on a thread, because both may block."""
    items = await asyncio.to_thread(begin)
    while True:
        item = await asyncio.to_thread(next, items, _END)
        if item is _END:
            return
        yield item


async def pages(
    fetch: Callable[[Any], Any], cursor: Any, move_cursor: plain_pages.MoveCursor
) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the items of all pages, as `pages.pairs` does; `fetch` may be async."""
    position: plain_pages.PagePosition | None = plain_pages.PagePosition.of(cursor)
    while position is not None:
        page = plain_pages.FetchedPage.of(
            await maybe_async.awaited(fetch, position.token), position.token
        )
        for pair in page.pairs(position.done):
            yield pair
        if page.has_nothing_left(position.done):
            await asyncio.to_thread(move_cursor, (page.next_token, 0))
        position = page.following
