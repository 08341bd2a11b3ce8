"""Sources that are awaited."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from geneva_drive.iteration import pages as plain_pages
from geneva_drive.iteration import sequences

T = TypeVar("T")


async def pairs(iterable: AsyncIterable[T], cursor: Any) -> AsyncIterator[tuple[T, int]]:
    """Give items with the index behind each, passing over those before the cursor."""
    start = sequences.index_of(cursor)
    index = 0
    async for item in iterable:
        index += 1
        if index > start:
            yield item, index


async def given_pairs(iterable: AsyncIterable[Any]) -> AsyncIterator[tuple[Any, Any]]:
    async for pair in iterable:
        yield sequences.checked(pair)


async def pages(
    fetch: Callable[[Any], Awaitable[Any]], cursor: Any
) -> AsyncIterator[tuple[Any, Any]]:
    """Give the items of page after page, each with the token of its page and its place in it."""
    place: plain_pages.Place | None = plain_pages.Place.of(cursor)
    while place is not None:
        page = plain_pages.Page.of(await fetch(place.token), place.token)
        for pair in page.pairs(place.done):
            yield pair
        place = page.following
