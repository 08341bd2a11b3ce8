"""Batches of the items of a source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.sources import item_batches, sequences

LETTERS = {
    1: [(["a"], 1), (["b"], 2), (["c"], 3)],
    2: [(["a", "b"], 2), (["c"], 3)],
    3: [(["a", "b", "c"], 3)],
    4: [(["a", "b", "c"], 3)],
}


async def _pairs(letters: str) -> AsyncIterator[tuple[str, int]]:
    for number, letter in enumerate(letters, 1):
        yield letter, number


async def _grouped(letters: str, size: int) -> list[Any]:
    return [batch async for batch in item_batches.group_async(_pairs(letters), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_batch_has_the_cursor_of_its_last_item(size: int) -> None:
    assert list(item_batches.group(sequences.pairs("abc", None), size)) == LETTERS[size]
    assert asyncio.run(_grouped("abc", size)) == LETTERS[size]


def test_no_items_make_no_batch() -> None:
    assert list(item_batches.group(iter([]), 2)) == []
    assert asyncio.run(_grouped("", 2)) == []


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "batch_size must be at least 1, got 0."),
        (1.5, "batch_size must be a whole number, got 1.5."),
    ],
)
def test_a_size_that_makes_no_sense_is_refused_before_the_loop(size: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        item_batches.group(iter([]), size)

    assert str(refusal.value) == words
