"""Nested loops, resumed in the middle of both."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.sources.nested import pairs
from geneva_drive.serialization.typed_json import dump, load

ACCOUNTS = [("ann", 10), ("bob", 20), ("cid", 30), ("dee", 40)]
PAYMENTS = {
    "ann": [("rent", 5), ("food", 6)],
    "bob": [],
    "cid": [("rent", 1), ("food", 2), ("fuel", 9)],
    "dee": [("rent", 3)],
}
WHOLE = [
    (("ann", "rent"), (10, 5)),
    (("ann", "food"), (10, 6)),
    (("cid", "rent"), (30, 1)),
    (("cid", "food"), (30, 2)),
    (("cid", "fuel"), (30, 9)),
    (("dee", "rent"), (40, 3)),
]


def test_each_outer_item_comes_with_each_of_its_inner_items() -> None:
    assert list(pairs(ACCOUNTS, PAYMENTS.__getitem__, None)) == WHOLE


@pytest.mark.parametrize("done", range(1, 7))
def test_from_every_saved_place_the_remaining_items_follow(done: int) -> None:
    cursor = load(dump(WHOLE[done - 1][1]))

    assert list(pairs(ACCOUNTS, PAYMENTS.__getitem__, cursor)) == WHOLE[done:]


def test_iterables_that_begin_at_the_cursor_are_taken_as_they_are() -> None:
    def payments(account: str) -> list[tuple[str, int]]:
        return {"cid": [("fuel", 9)], "dee": [("rent", 3)]}[account]

    assert list(pairs(ACCOUNTS[2:], payments, (30, 2))) == WHOLE[4:]


def test_an_outer_item_that_is_gone_is_followed_by_the_next_from_its_start() -> None:
    assert list(pairs([ACCOUNTS[0], ACCOUNTS[3]], PAYMENTS.__getitem__, (30, 2))) == WHOLE[5:]


def test_a_cursor_behind_the_last_outer_item_leaves_nothing() -> None:
    assert list(pairs(ACCOUNTS, PAYMENTS.__getitem__, (50, 1))) == []


def test_an_inner_item_that_is_gone_is_followed_by_the_next() -> None:
    payments = {**PAYMENTS, "cid": [("rent", 1), ("fuel", 9)]}

    assert list(pairs(ACCOUNTS, payments.__getitem__, (30, 2))) == WHOLE[4:]


def test_inner_items_before_the_saved_outer_item_are_not_asked_for() -> None:
    asked: list[str] = []

    def payments(account: str) -> Iterator[tuple[str, int]]:
        asked.append(account)
        yield from PAYMENTS[account]

    list(pairs(ACCOUNTS, payments, (30, 1)))

    assert asked == ["cid", "dee"]


@pytest.mark.parametrize(
    ("cursor", "one", "other"),
    [
        (("10", 5), 10, "10"),
        ((10, "5"), "5", 5),
        ((date(2026, 1, 1), 5), 10, date(2026, 1, 1)),
        ((10, None), None, 5),
    ],
    ids=repr,
)
def test_cursors_that_cannot_be_compared_are_refused(cursor: Any, one: Any, other: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        list(pairs(ACCOUNTS, PAYMENTS.__getitem__, cursor))

    assert str(refusal.value) == (
        f"The cursors {one!r} and {other!r} of a nested loop cannot be compared, so the loop "
        "cannot be resumed. Use cursors of one type, in ascending order; if they changed since "
        "the cursor was saved, rewind the step with `geneva rewind`."
    )


@pytest.mark.parametrize("cursor", [10, "ab", (10,), (10, 5, 1), {}], ids=repr)
def test_a_cursor_that_is_not_of_two_loops_is_refused(cursor: object) -> None:
    with pytest.raises(InvalidInput) as refusal:
        pairs(ACCOUNTS, PAYMENTS.__getitem__, cursor)

    assert str(refusal.value) == (
        f"The saved cursor {cursor!r} is not one of a nested loop, which saves (outer cursor, "
        "inner cursor). It was saved by another loop. Rewind the step with `geneva rewind`, or "
        "restore that loop."
    )


@pytest.mark.parametrize(
    ("outer", "inner"), [(["ann"], []), ([("ann", 10)], ["rent"])], ids=["outer", "inner"]
)
def test_items_without_cursors_are_refused_on_both_levels(outer: Any, inner: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^A loop with cursors takes \(item, cursor\) tuples, "):
        list(pairs(outer, lambda item: inner, None))


@pytest.mark.parametrize(
    ("outer", "inner", "level", "cursor", "before"),
    [
        ([("a", 3), ("b", 2)], [], "outer", 2, 3),
        ([("a", 3), ("b", 3)], [], "outer", 3, 3),
        ([("a", 1)], [("x", 3), ("y", 2)], "inner", 2, 3),
        ([("a", 1)], [("x", 5), ("y", 5)], "inner", 5, 5),
    ],
    ids=["outer descends", "outer repeats", "inner descends", "inner repeats"],
)
@pytest.mark.parametrize("saved", [None, (1, 1), (1, 9)], ids=repr)
def test_cursors_that_do_not_ascend_are_refused_from_wherever_it_starts(
    outer: Any, inner: Any, level: str, cursor: int, before: int, saved: object
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        list(pairs(outer, lambda item: inner, saved))

    assert str(refusal.value) == (
        f"The {level} cursor {cursor} of a nested loop comes after {before} and is not greater: a "
        "resumed loop would lose items. Give each item a cursor of its own, in ascending order: "
        "sort by it, or number the items with enumerate(...)."
    )


def test_two_items_without_a_cursor_cannot_be_told_apart() -> None:
    with pytest.raises(InvalidInput, match=r"^The cursors None and None of a nested loop cannot "):
        list(pairs([("a", None), ("b", None)], lambda item: [("x", 1)], None))
