"""Sources that are awaited."""

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
from geneva_drive.iteration.sources import nested as nested_source
from geneva_drive.iteration.sources import pages as plain_pages
from geneva_drive.iteration.sources import sequences

T = TypeVar("T")
_END: Any = object()


async def pairs(iterable: AsyncIterable[T], cursor: Any) -> AsyncIterator[tuple[T, int]]:
    """Give items with the index behind each, passing over those before the cursor."""
    sequences.refuse_queries(iterable)
    start = sequences.index_of(cursor)
    index = 0
    async for item in iterable:
        index += 1
        if index > start:
            yield item, index


async def given_pairs(iterable: AsyncIterable[Any]) -> AsyncIterator[tuple[Any, Any]]:
    async for pair in iterable:
        yield sequences.checked(pair)


async def nested(outer: Any, inner: Callable[[Any], Any], cursor: Any) -> AsyncIterator[Any]:
    """Give each outer item with each of its inner items, awaiting whatever is to be awaited."""
    place = nested_source.NestedCursor(cursor)
    outer = await outer if inspect.isawaitable(outer) else outer
    async for outer_item, outer_cursor in _pairs_of(outer):
        if not place.enters(outer_cursor):
            continue
        async for inner_item, inner_cursor in _pairs_of(
            await maybe_async.awaited(inner, outer_item)
        ):
            if place.reaches(inner_cursor):
                yield (outer_item, inner_item), (outer_cursor, inner_cursor)


async def _pairs_of(iterable: Any) -> AsyncIterator[tuple[Any, Any]]:
    if isinstance(iterable, AsyncIterable):
        async for pair in given_pairs(iterable):
            yield pair
    elif isinstance(iterable, Collection):
        for pair in sequences.given_pairs(iterable):
            yield pair
    else:  # whatever comes next may have to be waited for
        async for pair in on_a_thread(lambda: sequences.given_pairs(iterable)):
            yield pair


async def on_a_thread(begin: Callable[[], Iterator[T]]) -> AsyncGenerator[T, None]:
    """Begin something plain, and give its items, on another thread than the event loop's."""
    items = await asyncio.to_thread(begin)
    while True:
        item = await asyncio.to_thread(next, items, _END)
        if item is _END:
            return
        yield item


async def pages(
    fetch: Callable[[Any], Any], cursor: Any, pass_by: plain_pages.PassBy
) -> AsyncIterator[tuple[Any, Any]]:
    """Give the items of page after page, each with the token of its page and its place in it."""
    place: plain_pages.PagePosition | None = plain_pages.PagePosition.of(cursor)
    while place is not None:
        page = plain_pages.Page.of(await maybe_async.awaited(fetch, place.token), place.token)
        for pair in page.pairs(place.done):
            yield pair
        if page.is_passed_by(place.done):
            await asyncio.to_thread(pass_by, (page.next_token, 0))
        place = page.following
