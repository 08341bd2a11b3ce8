"""A loop within a loop, with one cursor for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.sources.sequences import given_pairs

Outer = TypeVar("Outer")
Inner = TypeVar("Inner")

Nested = Iterator[tuple[tuple[Outer, Inner], tuple[Any, Any]]]

_NOTHING: Any = object()  # None may be a cursor


def pairs(
    outer: Iterable[tuple[Outer, Any]],
    inner: Callable[[Outer], Iterable[tuple[Inner, Any]]],
    cursor: Any,
) -> Nested[Outer, Inner]:
    """Yield each outer item with each of its inner items, and the cursors of both.

    Cursors ascend on both levels. Items up to the saved cursor are dropped, so the iterables may
    begin at the start or at the cursor.
    """
    return _pairs_from(NestedCursor(cursor), outer, inner)


def _pairs_from(
    saved: NestedCursor,
    outer: Iterable[tuple[Outer, Any]],
    inner: Callable[[Outer], Iterable[tuple[Inner, Any]]],
) -> Nested[Outer, Inner]:
    for outer_item, outer_cursor in given_pairs(outer):
        if not saved.enters(outer_cursor):
            continue
        for inner_item, inner_cursor in given_pairs(inner(outer_item)):
            if saved.reaches(inner_cursor):
                yield (outer_item, inner_item), (outer_cursor, inner_cursor)


class NestedCursor:
    """The saved cursor of a nested loop; it finds the items left, and checks their order."""

    def __init__(self, cursor: Any) -> None:
        self._saved = None if cursor is None else _both(cursor)
        self._outer: Any = _NOTHING
        self._inner: Any = _NOTHING
        self._inner_saved: Any = _NOTHING

    def enters(self, cursor: Any) -> bool:
        """True if the outer item at `cursor` may have inner items left."""
        _require_ascent("outer", self._outer, cursor)
        self._outer = cursor
        # Inner cursors start again with each outer item.
        self._inner = self._inner_saved = _NOTHING
        if self._saved is None:
            return True
        outer_saved, inner_saved = self._saved
        if _is_less(cursor, outer_saved):
            return False
        # The saved inner cursor belongs only to the saved outer item.
        self._inner_saved = inner_saved if cursor == outer_saved else _NOTHING
        self._saved = None
        return True

    def reaches(self, cursor: Any) -> bool:
        """True if the inner item at `cursor` is not done yet."""
        _require_ascent("inner", self._inner, cursor)
        self._inner = cursor
        return self._inner_saved is _NOTHING or _is_less(self._inner_saved, cursor)


def _require_ascent(level: str, before: Any, cursor: Any) -> None:
    if before is _NOTHING or _is_less(before, cursor):
        return
    raise InvalidInput(
        f"The {level} cursor {shown(cursor)} of a nested loop comes after {shown(before)} and is "
        f"not greater: a resumed loop would lose items. Give each item a cursor of its own, in "
        f"ascending order: sort by it, or number the items with enumerate(...)."
    )


def _both(cursor: Any) -> tuple[Any, Any]:
    match cursor:
        case (outer_cursor, inner_cursor):
            return outer_cursor, inner_cursor
    raise InvalidInput(
        f"The saved cursor {shown(cursor)} is not one of a nested loop, which saves (outer cursor, "
        f"inner cursor). It was saved by another loop. Rewind the step with `geneva rewind`, or "
        f"restore that loop."
    )


def _is_less(one: Any, other: Any) -> bool:
    try:
        return bool(one < other)
    except TypeError as error:
        raise InvalidInput(
            f"The cursors {shown(one)} and {shown(other)} of a nested loop cannot be compared, so "
            f"the loop cannot be resumed. Use cursors of one type, in ascending order; if they "
            f"changed since the cursor was saved, rewind the step with `geneva rewind`."
        ) from error
