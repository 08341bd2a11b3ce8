"""Long lists, cut into what one statement takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

# As many values as every database takes in one statement.
PORTION = 1000
# Nodes are known by two values each.
NODES = PORTION // 2


def portions(values: Iterable[T], size: int = PORTION) -> Iterator[list[T]]:
    """Cut what may be very long into what fits into one statement."""
    remaining = iter(values)
    while portion := list(islice(remaining, size)):
        yield portion
