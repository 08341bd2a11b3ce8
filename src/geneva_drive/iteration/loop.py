"""A loop of `it` as the body holds it: what a `for` goes through is given to that `for` alone.

So it hears when the `for` lets go of it, also where the loop itself has a name.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import NoReturn, TypeVar

from geneva_drive.iteration import leaving
from geneva_drive.iteration.leaving import Standing

T = TypeVar("T")


class Loop(Iterator[T]):
    """Goes on behind the last item whenever it is asked for more, by whatever `for` or function."""

    def __init__(self, go_on: Callable[[], Generator[T, None, None]]) -> None:
        self._go_on = go_on
        self._given: Callable[[], Generator[T, None, None] | None] = _nothing
        self._items: Generator[T, None, None] | None = None  # kept for next(), which holds nothing

    def __iter__(self) -> Generator[T, None, None]:
        items = self._given() or self._go_on()
        self._given = weakref.ref(items)
        self._items = None
        return items

    def __next__(self) -> T:
        if self._items is None:
            self._items = iter(self)
        return next(self._items)

    def close(self) -> None:
        self._items = None


def _nothing() -> None:
    return None


class AsyncLoop(AsyncIterator[T]):
    """The same for `async for`."""

    def __init__(self, items: AsyncGenerator[T, None], left: Standing) -> None:
        self._items = items
        self._left = left

    def __iter__(self) -> NoReturn:
        raise TypeError("This step is async, and so is its loop: write `async for`, not `for`.")

    def __aiter__(self) -> AsyncIterator[T]:
        self._left.clear()
        return _Turn(self._items, self._left)

    def __anext__(self) -> Awaitable[T]:
        return self._items.__anext__()

    async def aclose(self) -> None:
        await self._items.aclose()


class _Turn(AsyncIterator[T]):
    """One `async for` through a loop.

    Not an async generator: the event loop closes these, and later, when the body has gone on.
    """

    def __init__(self, items: AsyncGenerator[T, None], left: Standing) -> None:
        self._items = items
        self._left = left

    def __anext__(self) -> Awaitable[T]:
        return self._items.__anext__()

    def __del__(self) -> None:
        leaving.note(self._left, is_awaited=True)
