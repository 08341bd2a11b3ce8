"""Batches of items; the cursor of a batch is that of its last item."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any, TypeVar

from geneva_drive import checks

T = TypeVar("T")
Pair = tuple[T, Any]


def group(pairs: Iterator[Pair[T]], batch_size: object) -> Iterator[Pair[list[T]]]:
    """Yield lists of `batch_size` items; the last one may be shorter."""
    return _group(pairs, _size(batch_size))


def group_async(pairs: AsyncIterator[Pair[T]], batch_size: object) -> AsyncIterator[Pair[list[T]]]:
    return _group_async(pairs, _size(batch_size))


def _size(value: object) -> int:
    return checks.whole_number("batch_size", value, at_least=1)


def _group(pairs: Iterator[Pair[T]], size: int) -> Iterator[Pair[list[T]]]:
    while batch := list(islice(pairs, size)):
        yield _joined(batch)


async def _group_async(pairs: AsyncIterator[Pair[T]], size: int) -> AsyncIterator[Pair[list[T]]]:
    batch: list[Pair[T]] = []
    async for pair in pairs:
        batch.append(pair)
        if len(batch) == size:
            yield _joined(batch)
            batch = []
    if batch:
        yield _joined(batch)


def _joined(batch: list[Pair[T]]) -> Pair[list[T]]:
    return [item for item, _ in batch], batch[-1][1]
