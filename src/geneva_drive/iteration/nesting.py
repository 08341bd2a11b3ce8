"""A loop within a loop, with one cursor for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.sequences import given_pairs

Outer = TypeVar("Outer")
Inner = TypeVar("Inner")

Nested = Iterator[tuple[tuple[Outer, Inner], tuple[Any, Any]]]


def pairs(
    outer: Iterable[tuple[Outer, Any]],
    inner: Callable[[Outer], Iterable[tuple[Inner, Any]]],
    cursor: Any,
) -> Nested[Outer, Inner]:
    """Give each outer item with each of its inner items, and the cursors of both.

    Cursors ascend, and a cursor names its item. Whatever lies before the saved place is passed
    over, so iterables that begin at the start and ones that begin at the cursor both will do.
    """
    return _from_start(outer, inner) if cursor is None else _after(outer, inner, _both(cursor))


def _from_start(
    outer: Iterable[tuple[Outer, Any]], inner: Callable[[Outer], Iterable[tuple[Inner, Any]]]
) -> Nested[Outer, Inner]:
    for outer_item, outer_cursor in given_pairs(outer):
        for inner_item, inner_cursor in given_pairs(inner(outer_item)):
            yield (outer_item, inner_item), (outer_cursor, inner_cursor)


def _after(
    outer: Iterable[tuple[Outer, Any]],
    inner: Callable[[Outer], Iterable[tuple[Inner, Any]]],
    saved: tuple[Any, Any],
) -> Nested[Outer, Inner]:
    remaining = iter(given_pairs(outer))
    for outer_item, outer_cursor in remaining:
        if _is_less(outer_cursor, saved[0]):
            continue
        is_begun = outer_cursor == saved[0]
        for inner_item, inner_cursor in given_pairs(inner(outer_item)):
            if is_begun and not _is_less(saved[1], inner_cursor):
                continue
            yield (outer_item, inner_item), (outer_cursor, inner_cursor)
        break
    # Inner cursors begin anew with each outer item: the saved one says nothing about these.
    yield from _from_start(remaining, inner)


def _both(cursor: Any) -> tuple[Any, Any]:
    match cursor:
        case (outer_cursor, inner_cursor):
            return outer_cursor, inner_cursor
    raise InvalidInput(
        f"The saved cursor {cursor!r} is not one of a nested loop, which saves (outer cursor, "
        f"inner cursor). It was saved by another loop. Rewind the step with `geneva rewind`, or "
        f"put that loop back."
    )


def _is_less(one: Any, other: Any) -> bool:
    try:
        return bool(one < other)
    except TypeError as error:
        raise InvalidInput(
            f"The cursors {one!r} and {other!r} of a nested loop cannot be compared, so its place "
            f"cannot be found again. Give cursors of one type, in ascending order; if they changed "
            f"since the cursor was saved, rewind the step with `geneva rewind`."
        ) from error
