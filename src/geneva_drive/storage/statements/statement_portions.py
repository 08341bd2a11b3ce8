"""Splitting long lists of values into portions that fit into one statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

# Every database accepts so many values in one statement.
PORTION = 1000
# A node's key is two values.
NODES = PORTION // 2


def portions(values: Iterable[T], size: int = PORTION) -> Iterator[list[T]]:
    """Yield the values in lists that fit into one statement."""
    remaining = iter(values)
    while portion := list(islice(remaining, size)):
        yield portion
