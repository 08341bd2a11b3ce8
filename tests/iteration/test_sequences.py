"""Loops with the index as cursor, and with cursors of their own."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import count, islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import literal, select

from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.sources.sequences import given_pairs, pairs, split


class Shelf:
    """A sequence that remembers which indexes were read."""

    def __init__(self, *books: str) -> None:
        self.books = books
        self.touched: list[int] = []

    def __len__(self) -> int:
        return len(self.books)

    def __getitem__(self, index: int) -> str:
        self.touched.append(index)
        return self.books[index]


class Table:
    """Has a length and brackets, but returns columns, like a pandas table."""

    def __init__(self, **columns: int) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return 2

    def __getitem__(self, name: str) -> int:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


class Array(Shelf):
    """Defines `__iter__` and is indexed all the same, like a NumPy array."""

    __array_interface__: Any = None

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("it was walked through from its start")


@pytest.mark.parametrize(
    "items",
    [
        ["a", "b", "c"],
        ("a", "b", "c"),
        "abc",
        UserList("abc"),
        deque("abc"),
        Shelf("a", "b", "c"),
        Array("a", "b", "c"),
        Table(a=1, b=2, c=3),
        {"a": 1, "b": 2, "c": 3},
        {"a": 1, "b": 2, "c": 3}.keys(),
    ],
    ids=lambda items: type(items).__name__,
)
def test_each_item_comes_with_the_index_of_the_next(items: Any) -> None:
    assert list(pairs(items, None)) == [("a", 1), ("b", 2), ("c", 3)]


@given(st.lists(st.integers()), st.data())
def test_from_every_saved_index_the_remaining_items_follow(
    items: list[int], data: st.DataObject
) -> None:
    whole = list(pairs(items, None))
    place = data.draw(st.integers(0, len(items)))

    assert list(pairs(items, place)) == whole[place:]
    assert list(pairs((item for item in items), place)) == whole[place:]


def test_a_range_is_resumed_without_counting_up_to_the_cursor() -> None:
    assert list(pairs(range(10**15), 10**15 - 1)) == [(10**15 - 1, 10**15)]


def test_what_has_indexes_is_not_touched_before_the_cursor() -> None:
    shelf: Any = Shelf("a", "b", "c", "d")

    assert list(pairs(shelf, 2)) == [("c", 3), ("d", 4)]

    assert shelf.touched == [2, 3]


def test_an_endless_iterable_is_walked_as_far_as_it_is_asked() -> None:
    assert list(islice(pairs(count(10), 2), 2)) == [(12, 3), (13, 4)]


def test_items_appended_by_the_body_are_walked_too() -> None:
    items = ["a"]
    walk = pairs(items, None)

    first = next(walk)
    items.append("b")

    assert [first, *walk] == [("a", 1), ("b", 2)]


def test_the_cursor_zero_is_the_start() -> None:
    assert list(pairs(["a"], 0)) == [("a", 1)]


def test_a_cursor_beyond_the_end_leaves_nothing() -> None:
    assert list(pairs(["a"], 5)) == []
    assert list(pairs(iter(["a"]), 5)) == []


@pytest.mark.parametrize(
    ("items", "kind"), [({1, 2}, "set"), (frozenset({1, 2}), "frozenset")], ids=["set", "frozenset"]
)
def test_a_set_is_refused_as_its_order_does_not_last(items: Iterable[int], kind: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        pairs(items, None)

    assert str(refusal.value) == (
        f"A {kind} has a different order in every process, so an index into it is meaningless "
        f"after a restart. Sort it first: iterate_over(sorted(...))."
    )


def test_what_cannot_be_looped_over_is_refused() -> None:
    nothing: Any = 5
    with pytest.raises(InvalidInput) as refusal:
        pairs(nothing, None)

    assert str(refusal.value) == (
        "iterate_over() takes an iterable, got 5. To loop a number of times, use "
        "iterate_over(range(...))."
    )


@pytest.mark.parametrize(
    "loop",
    [lambda given: pairs(given, None), given_pairs, lambda given: split(given, None, 2)],
    ids=["items", "pairs", "partitions"],
)
def test_a_select_is_refused_with_a_word_of_the_loop_that_takes_it(
    loop: Callable[[Any], object],
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        loop(select(literal(1)))

    assert str(refusal.value) == (
        "iterate_over() does not read from the database, and got a select(). Use "
        "it.iterate_over_records(select(...))."
    )


def test_what_is_walked_through_in_its_own_way_is_not_divided() -> None:
    table: Any = Table(a=1)
    with pytest.raises(InvalidInput) as refusal:
        split(table, None, 2)

    assert str(refusal.value) == (
        "partitions=... divides records and sequences, not a Table. Make a list of it, or remove "
        "partitions."
    )


async def _items() -> AsyncIterator[tuple[str, int]]:
    yield "a", 1


async def _all_items() -> list[tuple[str, int]]:
    return [pair async for pair in _items()]


@pytest.mark.parametrize("loop", [lambda given: pairs(given, None), given_pairs])
@pytest.mark.parametrize(
    ("give", "kind"), [(_items, "async_generator"), (_all_items, "coroutine")], ids=["loop", "call"]
)
def test_what_is_to_be_awaited_is_refused_in_a_plain_step(
    give: Callable[[], Any], kind: str, loop: Callable[[Any], object]
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        loop(give())

    assert str(refusal.value) == (
        f"A value of type {kind} has to be awaited, and its step is a plain function. Make the "
        "step an `async def`."
    )


@pytest.mark.parametrize("cursor", ["3", 2.0, True, False, "", [], -1, (1, 2)], ids=repr)
def test_a_cursor_that_is_no_index_is_refused(cursor: object) -> None:
    with pytest.raises(InvalidInput) as refusal:
        pairs(["a"], cursor)

    assert str(refusal.value) == (
        f"The saved cursor {cursor!r} is not an index: this loop counts its items from 0. It was "
        "saved by another loop. Rewind the step with `geneva rewind`, or restore that loop."
    )


def test_pairs_that_were_given_are_passed_on() -> None:
    assert list(given_pairs(iter([("a", 7), ("b", None)]))) == [("a", 7), ("b", None)]


@pytest.mark.parametrize("thing", ["ab", ("a",), ("a", 1, 2), ["a", 1], None], ids=repr)
def test_what_is_not_a_pair_is_refused(thing: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        list(given_pairs([thing]))

    assert str(refusal.value) == (
        f"A loop with cursors takes (item, cursor) tuples, got {thing!r}. Yield each item "
        f"together with its cursor."
    )
