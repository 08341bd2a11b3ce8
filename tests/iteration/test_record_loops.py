"""Loops over records and batches, with a fake query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.sources.records import batch_pairs, pairs


class Letters:
    """The letters of a text in order, with themselves as cursors; counts its reads."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.reads: list[tuple[Any, int]] = []

    def read(self, after: Any, limit: int) -> Sequence[tuple[str, str]]:
        self.reads.append((after, limit))
        left = sorted(letter for letter in self.text if after is None or letter > after)
        return [(letter.upper(), letter) for letter in left[:limit]]

    def read_batch(self, after: Any, size: int) -> tuple[str, str] | None:
        found = self.read(after, size)
        return ("".join(item for item, _ in found), found[-1][1]) if found else None


def test_all_records_are_given_chunk_by_chunk() -> None:
    letters = Letters("caebd")

    assert list(pairs(letters, None, 2)) == [
        ("A", "a"),
        ("B", "b"),
        ("C", "c"),
        ("D", "d"),
        ("E", "e"),
    ]

    assert letters.reads == [(None, 2), ("b", 2), ("d", 2), ("e", 2)]


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("done", range(6))
def test_from_every_saved_cursor_the_remaining_records_follow(chunk: int, done: int) -> None:
    letters = Letters("abcde")
    cursor = [None, "a", "b", "c", "d", "e"][done]

    assert [item for item, _ in pairs(letters, cursor, chunk)] == list("ABCDE"[done:])


def test_the_next_chunk_is_read_when_the_last_record_of_this_one_is_done() -> None:
    letters = Letters("abc")

    walk = pairs(letters, None, 2)
    next(walk)
    next(walk)
    letters.text = "abxy"

    assert list(walk) == [("X", "x"), ("Y", "y")]


@pytest.mark.parametrize("cursor", ["", "a"], ids=repr)
def test_a_cursor_that_is_false_is_a_cursor(cursor: str) -> None:
    letters = Letters("")

    assert list(pairs(letters, cursor, 2)) == []

    assert letters.reads == [(cursor, 2)]


def test_batches_are_given_one_after_the_other() -> None:
    assert list(batch_pairs(Letters("abcde"), None, 2)) == [("AB", "b"), ("CD", "d"), ("E", "e")]


def test_from_a_saved_cursor_the_remaining_batches_follow() -> None:
    assert list(batch_pairs(Letters("abcde"), "b", 2)) == [("CD", "d"), ("E", "e")]


BAD_SIZES = [
    (0, "must be at least 1, got 0."),
    (-1, "must be at least 1, got -1."),
    (1.0, "must be a whole number, got 1.0."),
    ("10", "must be a whole number, got '10'."),
    (True, "must be a whole number, got True."),
    (None, "must be a whole number, got None."),
]


@pytest.mark.parametrize(("size", "words"), BAD_SIZES)
def test_a_chunk_that_is_no_number_from_one_up_is_refused(size: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        pairs(Letters("abc"), None, size)

    assert str(refusal.value) == f"chunk {words}"


@pytest.mark.parametrize(("size", "words"), BAD_SIZES)
def test_a_batch_size_that_is_no_number_from_one_up_is_refused(size: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        batch_pairs(Letters("abc"), None, size)

    assert str(refusal.value) == f"batch_size {words}"
