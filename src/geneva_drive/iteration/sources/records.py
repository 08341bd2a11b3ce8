"""How a loop sees a query: the next records after a cursor, one by one or in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Protocol, TypeVar

from geneva_drive import checks

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
B_co = TypeVar("B_co", covariant=True)


class RecordBatch(Protocol):
    """A group of records, fixed before the body of the loop runs.

    The keys are read once. Rows that others insert later belong to no batch before theirs, and
    rows that the body changes stay in this one. An item repeated after a crash gets a new batch
    of those records that are still there.

        for batch in it.iterate_over_record_batches(select(User), batch_size=500):
            batch.update(notified=True)
    """

    @property
    def ids(self) -> list[Any]:
        """The primary keys, in the order of the loop; a key of several columns is a tuple."""

    @property
    def where(self) -> Any:
        """What is true of exactly these records, for statements of your own."""

    @property
    def rows(self) -> Sequence[Any]:
        """The records that still match the query, in the order of the loop, read at each look."""

    def update(self, session: Any = None, /, **values: Any) -> int:
        """Set columns of these records, and say how many there were.

        In a transaction of its own, or in `session`, which is then yours to commit. In a step with
        `transaction=True` it belongs to the step's.
        """

    def __len__(self) -> int: ...


class Records(Protocol[T_co]):
    """A query as a loop over records needs it."""

    def read(self, after: Any, limit: int) -> Sequence[tuple[T_co, Any]]:
        """Read the next records in the order of their keys, each with its cursor.

        None as `after` means from the start. Fewer than `limit` may be given while more are left,
        but none only at the end.
        """


class Batches(Protocol[B_co]):
    """A query as a loop over batches needs it."""

    def read_batch(self, after: Any, size: int) -> tuple[B_co, Any] | None:
        """Fix the next batch and the cursor that stands for it; None at the end."""


def pairs(records: Records[T], cursor: Any, chunk: int) -> Iterator[tuple[T, Any]]:
    """Give the records after `cursor`, of which `chunk` at a time are read and held in memory."""
    return chain.from_iterable(
        _chunks(records, cursor, checks.whole_number("chunk", chunk, at_least=1))
    )


def batch_pairs(batches: Batches[T], cursor: Any, size: int) -> Iterator[tuple[T, Any]]:
    """Give the batches after `cursor`, of `size` records each but the last."""
    return _batch_by_batch(batches, cursor, checks.whole_number("batch_size", size, at_least=1))


def _chunks(records: Records[T], cursor: Any, size: int) -> Iterator[Sequence[tuple[T, Any]]]:
    while found := records.read(cursor, size):
        yield found
        cursor = found[-1][1]


def _batch_by_batch(batches: Batches[T], cursor: Any, size: int) -> Iterator[tuple[T, Any]]:
    while found := batches.read_batch(cursor, size):
        yield found
        cursor = found[1]
