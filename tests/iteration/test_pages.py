"""Loops over pages with tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.sources import pages
from geneva_drive.serialization.typed_json import dump, load

PAGES = {
    None: (["a", "b"], "t2"),
    "t2": ([], "t3"),
    "t3": (["c", "d", "e"], "t4"),
    "t4": (["f"], None),
}
WHOLE = [
    ("a", (None, 1)),
    ("b", ("t2", 0)),
    ("c", ("t3", 1)),
    ("d", ("t3", 2)),
    ("e", ("t4", 0)),
    ("f", ("t4", 1)),
]


def pairs(
    fetch: Callable[[Any], Any], cursor: Any, passed_by: list[Any] | None = None
) -> Iterator[tuple[Any, Any]]:
    passed_by = [] if passed_by is None else passed_by
    return pages.pairs(fetch, cursor, passed_by.append)


def test_every_item_of_every_page_comes_with_its_place() -> None:
    assert list(pairs(PAGES.__getitem__, None)) == WHOLE


@pytest.mark.parametrize("done", range(1, 7))
def test_from_every_saved_place_the_remaining_items_follow(done: int) -> None:
    cursor = load(dump(WHOLE[done - 1][1]))

    assert list(pairs(PAGES.__getitem__, cursor)) == WHOLE[done:]


def test_pages_before_the_saved_one_are_not_fetched() -> None:
    fetched: list[Any] = []

    def fetch(token: Any) -> tuple[list[str], Any]:
        fetched.append(token)
        return PAGES[token]

    list(pairs(fetch, ("t3", 1)))

    assert fetched == ["t3", "t4"]


def test_a_page_is_fetched_when_its_first_item_is_asked_for() -> None:
    fetched: list[Any] = []

    def fetch(token: Any) -> tuple[list[str], Any]:
        fetched.append(token)
        return PAGES[token]

    walk = pairs(fetch, None)
    next(walk)
    next(walk)

    assert fetched == [None]


def test_an_empty_first_page_without_another_gives_nothing() -> None:
    assert list(pairs(lambda token: ([], None), None)) == []


@pytest.mark.parametrize(
    ("cursor", "passed_by"),
    [(None, [("t3", 0)]), (("t3", 9), [("t4", 0)]), (("t4", 9), [])],
    ids=["an empty page", "one that became shorter", "the last one"],
)
def test_the_place_behind_a_page_with_nothing_to_do_is_told(
    cursor: Any, passed_by: list[Any]
) -> None:
    told: list[Any] = []
    list(pairs(PAGES.__getitem__, cursor, told))

    assert told == passed_by


def test_a_page_that_became_shorter_leaves_nothing_of_itself() -> None:
    assert list(pairs(PAGES.__getitem__, ("t4", 9))) == []


@pytest.mark.parametrize("token", [0, "", False], ids=repr)
def test_a_token_that_is_false_is_a_token(token: object) -> None:
    both: dict[Any, Any] = {None: (["a"], token), token: (["b"], None)}

    assert list(pairs(both.__getitem__, None)) == [("a", (token, 0)), ("b", (token, 1))]


def test_the_items_of_a_page_may_be_an_iterator() -> None:
    assert list(pairs(lambda token: (iter("ab"), None), None)) == [
        ("a", (None, 1)),
        ("b", (None, 2)),
    ]


@pytest.mark.parametrize("page", [None, ["a"], ("a",), ["a", None], (1, None), "ab"], ids=repr)
def test_a_fetch_that_returns_no_pair_is_refused(page: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        list(pairs(lambda token: page, ("t3", 1)))

    assert str(refusal.value) == (
        f"fetch('t3') returned {page!r}. It should return a tuple (items, next_token), with None "
        f"as the next token of the last page."
    )


def test_a_page_that_names_itself_as_the_next_is_refused() -> None:
    with pytest.raises(InvalidInput) as refusal:
        list(pairs(lambda token: (["a"], "t2"), None))

    assert str(refusal.value) == (
        "The page of token 't2' names itself as the next one, so the loop would never end. Return "
        "None as the next token of the last page."
    )


@pytest.mark.parametrize(
    "cursor", [0, "t2", ("t2",), ("t2", "1"), ("t2", -1), ("t2", True), ("t2", 1, 2)], ids=repr
)
def test_a_cursor_that_is_no_place_in_a_page_is_refused(cursor: object) -> None:
    with pytest.raises(InvalidInput) as refusal:
        pairs(PAGES.__getitem__, cursor)

    assert str(refusal.value) == (
        f"The saved cursor {cursor!r} is not a position in a page: this loop saves (token, count). "
        "It was saved by another loop. Rewind the step with `geneva rewind`, or restore that "
        "loop."
    )


def test_a_fetch_that_is_async_is_refused_in_a_plain_step() -> None:
    async def fetch(token: Any) -> Any:
        return PAGES[token]

    with pytest.raises(InvalidInput) as refusal:
        list(pairs(fetch, None))

    assert str(refusal.value) == (
        "fetch of iterate_over_pages() is async, and its step is a plain function, which cannot "
        "await it. Make the step an `async def`, or pass a plain function."
    )
