"""Records of a query: the next ones after a cursor, or the next batch of them."""

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

    The keys are read once, so rows that the body changes stay in the batch. After a crash, the
    batch is read again, with the records that still exist.

        for batch in it.iterate_over_record_batches(select(User), batch_size=500):
            batch.update(notified=True)
    """

    @property
    def ids(self) -> list[Any]:
        """The primary keys, in the order of the loop; a key of several columns is a tuple."""

    @property
    def where(self) -> Any:
        """A condition that matches exactly these records, for statements of your own."""

    @property
    def rows(self) -> Sequence[Any]:
        """The records that still match the query, in the order of the loop; read at each access."""

    def update(self, session: Any = None, /, **values: Any) -> int:
        """Set columns of these records, and return how many were updated.

        It commits its own transaction, or writes in `session`, which the caller commits. In a step
        with `transaction=True` it is part of the step's transaction.
        """

    def __len__(self) -> int: ...


class Records(Protocol[T_co]):
    """A query for a loop over records."""

    def read(self, after: Any, limit: int) -> Sequence[tuple[T_co, Any]]:
        """Return the next records in the order of their keys, each with its cursor.

        `after=None` reads from the start. The result may be shorter than `limit` while more records
        are left, but it is empty only at the end.
        """


class RecordBatches(Protocol[B_co]):
    """A query for a loop over batches."""

    def read_batch(self, after: Any, size: int) -> tuple[B_co, Any] | None:
        """Return the next batch and its cursor; None at the end."""


def pairs(records: Records[T], cursor: Any, chunk: int) -> Iterator[tuple[T, Any]]:
    """Yield the records after `cursor`, reading `chunk` of them at a time."""
    return chain.from_iterable(
        _chunks(records, cursor, checks.whole_number("chunk", chunk, at_least=1))
    )


def batch_pairs(batches: RecordBatches[T], cursor: Any, size: int) -> Iterator[tuple[T, Any]]:
    """Yield the batches after `cursor`, of `size` records each."""
    return _batch_by_batch(batches, cursor, checks.whole_number("batch_size", size, at_least=1))


def _chunks(records: Records[T], cursor: Any, size: int) -> Iterator[Sequence[tuple[T, Any]]]:
    while found := records.read(cursor, size):
        yield found
        cursor = found[-1][1]


def _batch_by_batch(batches: RecordBatches[T], cursor: Any, size: int) -> Iterator[tuple[T, Any]]:
    while found := batches.read_batch(cursor, size):
        yield found
        cursor = found[1]
