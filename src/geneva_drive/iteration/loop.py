"""The loop objects that the methods of `it` return.

Each `for` gets an iterator of its own that nothing else refers to. Python therefore drops it when
that `for` ends, even if the body keeps the loop object in a variable.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import NoReturn, TypeVar

from geneva_drive.iteration.loop_exit import LoopExit

T = TypeVar("T")


class Loop(Iterator[T]):
    """A loop for `for`; each further `for` or next() continues after the last item."""

    def __init__(self, go_on: Callable[[], Generator[T, None, None]], loop_exit: LoopExit) -> None:
        self._go_on = go_on
        self._exit = loop_exit
        self._iterator: Callable[[], Generator[T, None, None] | None] = _nothing
        self._for_next: Generator[T, None, None] | None = None  # next() itself holds nothing

    def __iter__(self) -> Generator[T, None, None]:
        # Two uses at the same time, as in zip(loop, loop), share one iterator.
        iterator = self._iterator()
        if iterator is None:
            iterator = self._go_on()
            self._iterator = weakref.ref(iterator)
            self._exit.loop_begins(iterator)
        self._for_next = None
        return iterator

    def __next__(self) -> T:
        if self._for_next is None:
            self._for_next = iter(self)
        return next(self._for_next)

    def close(self) -> None:
        self._for_next = None


def _nothing() -> None:
    return None


class AsyncLoop(AsyncIterator[T]):
    """A loop for `async for`."""

    def __init__(self, items: AsyncGenerator[T, None], loop_exit: LoopExit) -> None:
        self._items = items
        self._exit = loop_exit

    def __iter__(self) -> NoReturn:
        raise TypeError("This step is async, and so is its loop: write `async for`, not `for`.")

    def __aiter__(self) -> AsyncIterator[T]:
        iterator = _AsyncIterator(self._items, self._exit)
        self._exit.loop_begins(iterator)
        return iterator

    def __anext__(self) -> Awaitable[T]:
        return self._items.__anext__()

    async def aclose(self) -> None:
        await self._items.aclose()


class _AsyncIterator(AsyncIterator[T]):
    """The iterator of one `async for`.

    Not an async generator, which the event loop closes only after the body has continued.
    """

    def __init__(self, items: AsyncGenerator[T, None], loop_exit: LoopExit) -> None:
        self._items = items
        self._exit = loop_exit

    def __anext__(self) -> Awaitable[T]:
        return self._items.__anext__()

    def __del__(self) -> None:
        self._exit.note(inspect.currentframe())
