"""Iterables, with the index as the cursor or with the caller's cursors."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Awaitable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration import maybe_async
from geneva_drive.iteration.sources.querysets import is_queryset

T = TypeVar("T")


def pairs(iterable: Iterable[T], cursor: Any, until: Any = None) -> Iterator[tuple[T, int]]:
    """Yield the items from the index `cursor` up to `until`, each with the index of the next."""
    if isinstance(iterable, set | frozenset):
        raise InvalidInput(
            f"A {type(iterable).__name__} has a different order in every process, so an index into "
            f"it is meaningless after a restart. Sort it first: iterate_over(sorted(...))."
        )
    refuse_queries(iterable)
    start = index_of(cursor)
    if _is_indexed(iterable):
        return _from_index(iterable, start, sys.maxsize if until is None else index_of(until))
    _require_iterable(iterable)
    return _from_start(iterable, start, None if until is None else index_of(until))


def given_pairs(pairs: Iterable[tuple[T, Any]]) -> Iterator[tuple[T, Any]]:
    """Yield the (item, cursor) pairs of a source that starts after the cursor by itself."""
    if not _is_indexed(pairs):
        _require_iterable(pairs)
    return map(checked, pairs)


def checked(pair: Any) -> tuple[Any, Any]:
    match pair:
        case (_, _) if isinstance(pair, tuple):
            return pair
    raise InvalidInput(
        f"A loop with cursors takes (item, cursor) tuples, got {shown(pair)}. Yield each item "
        f"together with its cursor."
    )


def index_of(cursor: Any) -> int:
    """Return the saved cursor as the index of the next item."""
    if cursor is None:
        return 0
    # A bool is an int in Python, but this loop never saves one.
    if isinstance(cursor, int) and not isinstance(cursor, bool) and cursor >= 0:
        return cursor
    raise InvalidInput(
        f"The saved cursor {shown(cursor)} is not an index: this loop counts its items from 0. It "
        f"was saved by another loop. Rewind the step with `geneva rewind`, or restore that loop."
    )


def refuse_queries(given: object) -> None:
    """Refuse queries: the index of a record changes when others are inserted or deleted."""
    if is_queryset(given):
        raise InvalidInput(
            "iterate_over() does not read from the database, and got a QuerySet. Use "
            "it.iterate_over_records(...)."
        )


def _require_iterable(given: object) -> None:
    if hasattr(given, "__iter__"):
        return
    if getattr(given, "is_select", False):  # SQLAlchemy's, which this package must not import
        raise InvalidInput(
            "iterate_over() does not read from the database, and got a select(). Use "
            "it.iterate_over_records(select(...))."
        )
    if isinstance(given, AsyncIterable | Awaitable):
        maybe_async.discard(given)
        raise InvalidInput(
            f"A value of type {type(given).__name__} has to be awaited, and its step is a plain "
            f"function. Make the step an `async def`."
        )
    raise InvalidInput(
        f"iterate_over() takes an iterable, got {shown(given)}. To loop a number of times, use "
        f"iterate_over(range(...))."
    )


def _is_indexed(iterable: object) -> bool:
    """True if `iterable[n]` is the n-th item of a `for` over it.

    A length and brackets are not enough: a dict or a pandas table is indexed by its keys. So an
    object that defines `__iter__` counts only if it is a sequence or an array.
    """
    if isinstance(iterable, Sequence):
        return True
    is_sized = hasattr(iterable, "__len__") and hasattr(iterable, "__getitem__")
    is_array = hasattr(iterable, "__array_interface__")  # NumPy's
    return is_sized and (is_array or not hasattr(iterable, "__iter__"))


def split(iterable: Iterable[Any], cursor: Any, parts: int) -> list[int]:
    """Return the indexes that divide the items into parts of similar size."""
    refuse_queries(iterable)
    if not _is_indexed(iterable):
        _require_iterable(iterable)
        raise InvalidInput(
            f"partitions=... divides records and sequences, not a {type(iterable).__name__}. Make "
            f"a list of it, or remove partitions."
        )
    items: Any = iterable
    start = index_of(cursor)
    left = max(0, len(items) - start)
    borders = {start + left * number // parts for number in range(1, parts)}
    return sorted(borders - {start})


def _from_index(items: Any, index: int, until: int) -> Iterator[tuple[Any, int]]:
    # Read the length each time, as a list may grow while the loop runs.
    while index < until and index < len(items):
        item = items[index]
        index += 1
        yield item, index


def _from_start(iterable: Iterable[T], start: int, until: int | None) -> Iterator[tuple[T, int]]:
    return ((item, index) for index, item in enumerate(islice(iterable, start, until), start + 1))
