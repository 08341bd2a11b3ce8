"""Items by their index, and items that bring their own cursors."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Awaitable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from geneva_drive.errors import InvalidInput
from geneva_drive.iteration import maybe_async
from geneva_drive.iteration.sources.querysets import is_queryset

T = TypeVar("T")


def pairs(iterable: Iterable[T], cursor: Any, until: Any = None) -> Iterator[tuple[T, int]]:
    """Give the items from the index `cursor` on, up to `until`, each with the index of the next."""
    if isinstance(iterable, set | frozenset):
        raise InvalidInput(
            f"A {type(iterable).__name__} has another order in every process, so an index into it "
            f"means nothing after a restart. Sort it first: iterate_over(sorted(...))."
        )
    refuse_queries(iterable)
    start = index_of(cursor)
    if _is_indexed(iterable):
        return _from_index(iterable, start, sys.maxsize if until is None else index_of(until))
    _require_iterable(iterable)
    return _passing_over(iterable, start, None if until is None else index_of(until))


def given_pairs(pairs: Iterable[tuple[T, Any]]) -> Iterator[tuple[T, Any]]:
    """Pass on pairs of item and cursor that start after the cursor by their maker's doing."""
    if not _is_indexed(pairs):
        _require_iterable(pairs)
    return map(checked, pairs)


def checked(pair: Any) -> tuple[Any, Any]:
    match pair:
        case (_, _) if isinstance(pair, tuple):
            return pair
    raise InvalidInput(
        f"A loop with cursors takes (item, cursor) tuples, and got {pair!r}. Yield each item "
        f"together with the cursor that stands for it."
    )


def index_of(cursor: Any) -> int:
    """Read a saved cursor as the index of the next item."""
    if cursor is None:
        return 0
    # True is an int to Python, but nobody saved it as an index.
    if isinstance(cursor, int) and not isinstance(cursor, bool) and cursor >= 0:
        return cursor
    raise InvalidInput(
        f"The saved cursor {cursor!r} is not an index: this loop counts its items from 0. It was "
        f"saved by another loop. Rewind the step with `geneva rewind`, or put that loop back."
    )


def refuse_queries(given: object) -> None:
    """Refuse a QuerySet: its records have no numbers that last while others come and go."""
    if is_queryset(given):
        raise InvalidInput(
            "iterate_over() does not read from the database, and got a QuerySet. Use "
            "it.iterate_over_records(...)."
        )


def _require_iterable(given: object) -> None:
    if hasattr(given, "__iter__"):
        return
    if getattr(given, "is_select", False):  # as SQLAlchemy's are, which this room does not import
        raise InvalidInput(
            "iterate_over() does not read from the database, and got a select(). Use "
            "it.iterate_over_records(select(...))."
        )
    if isinstance(given, AsyncIterable | Awaitable):
        maybe_async.discard(given)
        raise InvalidInput(
            f"What is to be looped over is of type {type(given).__name__}, which is to be awaited, "
            f"and its step is a plain function. Make the step an `async def`."
        )
    raise InvalidInput(
        f"iterate_over() takes what can be looped over, and got {given!r}. For a number of turns, "
        f"iterate_over(range(...))."
    )


def _is_indexed(iterable: object) -> bool:
    """Say whether its items are those of the numbers from 0 up, in a `for` loop too.

    What has keys, as a table of pandas has, may have a length and brackets as well. It is walked
    through, as is all else that says by itself how it is to be walked through.
    """
    if isinstance(iterable, Sequence):
        return True
    is_sized = hasattr(iterable, "__len__") and hasattr(iterable, "__getitem__")
    is_array = hasattr(iterable, "__array_interface__")  # as NumPy's are
    return is_sized and (is_array or not hasattr(iterable, "__iter__"))


def split(iterable: Iterable[Any], cursor: Any, parts: int) -> list[int]:
    """Find the indexes between so many parts of about the same size; fewer if there are few."""
    refuse_queries(iterable)
    if not _is_indexed(iterable):
        _require_iterable(iterable)
        raise InvalidInput(
            f"partitions=... divides records and sequences, and what is of type "
            f"{type(iterable).__name__} can only be walked through. Make a list of it, or leave "
            f"out partitions."
        )
    items: Any = iterable
    start = index_of(cursor)
    left = max(0, len(items) - start)
    borders = {start + left * number // parts for number in range(1, parts)}
    return sorted(borders - {start})


def _from_index(items: Any, index: int, until: int) -> Iterator[tuple[Any, int]]:
    # The length is asked each time, as a list may grow while it is walked through.
    while index < until and index < len(items):
        item = items[index]
        index += 1
        yield item, index


def _passing_over(iterable: Iterable[T], start: int, until: int | None) -> Iterator[tuple[T, int]]:
    return ((item, index) for index, item in enumerate(islice(iterable, start, until), start + 1))
