"""The ranges that a batch divides its work into."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import Any

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.serialization import typed_json

MAX_BATCHES = 100_000

_KEYS = ("start", "end", "metadata")


@dataclass(frozen=True, slots=True)
class BatchRange:
    """The part of a batch that one worker does: from `start` up to, not including, `end`.

    The bounds and the metadata can be any values that JSON can store.

    >>> import geneva_drive as gd
    >>> gd.BatchRange(0, 500, metadata={"region": "north"}).end
    500
    """

    start: Any
    end: Any
    metadata: Any = None

    def __post_init__(self) -> None:
        if self.is_numeric:
            if self.start >= self.end:
                fault = "is empty" if self.start == self.end else "is reversed"
                raise InvalidInput(
                    f"The range {self.words} {fault}. Its end, which is not part of it, must be "
                    f"greater than its start."
                )
        else:
            typed_json.dump(self.start, "The start of a range")
            typed_json.dump(self.end, "The end of a range")
        if self.metadata is not None:
            typed_json.dump(self.metadata, f"The metadata of the range {self.words}")

    @property
    def is_numeric(self) -> bool:
        """True if both bounds are whole numbers."""
        return type(self.start) is int and type(self.end) is int

    @property
    def words(self) -> str:
        return f"{shown(self.start, 40)} to {shown(self.end, 40)}"


@dataclass(frozen=True, slots=True)
class RecordSource:
    """The records of a select or a Django QuerySet, in the order of `cursor`."""

    query: Any
    cursor: Any = "id"


@dataclass(frozen=True, slots=True)
class CsvSource:
    """The rows of a CSV file."""

    path: str
    encoding: str = "utf-8"
    options: Mapping[str, Any] = field(default_factory=dict)  # of csv.reader


RangeLike = BatchRange | Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """How a batch divides its work; made by `split`, `workers`, `ranges`, `over`, `csv` or `none`.

    >>> import geneva_drive as gd
    >>> batches = gd.Batches.split(total=10_000, batch_size=4_000)
    >>> [(part.start, part.end) for part in batches.parts]
    [(0, 4000), (4000, 8000), (8000, 10000)]
    """

    parts: tuple[BatchRange, ...] = ()
    reason: str | None = None  # why there are no parts
    source: RecordSource | CsvSource | None = None  # records or rows that the engine divides
    batch_size: int | None = None  # of the source, in records or rows

    @classmethod
    def split(cls, total: int, batch_size: int, max_batches: int | None = None) -> Batches:
        """Divide 0 to `total` into ranges of `batch_size`; the last may be shorter.

        With `max_batches`, the ranges are made larger if there would be more of them.
        """
        _number("split", "total", total, at_least=0)
        size = _number("split", "batch_size", batch_size)
        if max_batches is not None:
            most = _number("split", "max_batches", max_batches, at_most=MAX_BATCHES)
            size = max(size, -(-total // most))
        if total == 0:
            return cls.none("There is nothing to split: the total is 0.")
        count = -(-total // size)
        if count > MAX_BATCHES:
            raise InvalidInput(
                f"Batches.split() makes {count:,} ranges of {total:,} items; the most is "
                f"{MAX_BATCHES:,}. Pass a larger batch_size, or max_batches."
            )
        starts = range(0, total, size)
        return cls(parts=tuple(BatchRange(start, min(start + size, total)) for start in starts))

    @classmethod
    def workers(cls, total: int, n: int) -> Batches:
        """Divide 0 to `total` into `n` ranges of nearly the same size, but at most `total`."""
        _number("workers", "total", total, at_least=0)
        count = min(total, _number("workers", "n", n, at_most=MAX_BATCHES))
        if count == 0:
            return cls.none("There is nothing to split: the total is 0.")
        bounds = [total * number // count for number in range(count + 1)]
        return cls(parts=tuple(map(BatchRange, bounds[:-1], bounds[1:])))

    @classmethod
    def ranges(cls, ranges: Iterable[RangeLike]) -> Batches:
        """Use these ranges: each a `gd.BatchRange`, (start, end), (start, end, metadata) or a dict.

        Ranges of whole numbers must not overlap.
        """
        if isinstance(ranges, str | bytes | Mapping) or not isinstance(ranges, Iterable):
            raise InvalidInput(f"Batches.ranges() takes a list of ranges, got {shown(ranges)}.")
        parts = tuple(_range(given) for given in ranges)
        if len(parts) > MAX_BATCHES:
            raise InvalidInput(
                f"Batches.ranges() got {len(parts):,} ranges; the most is {MAX_BATCHES:,}. Make "
                f"larger ranges."
            )
        _refuse_overlap(parts)
        return cls(parts=parts) if parts else cls.none("There are no ranges.")

    @classmethod
    def none(cls, reason: str | None = None) -> Batches:
        """Return batches without work, with the reason; the aggregate still runs."""
        if reason is not None:
            checks.text("Batches.none(): reason", reason)
        return cls(reason=reason)

    @classmethod
    def over(cls, select: Any, batch_size: int, cursor: Any = "id") -> Batches:
        """Divide the records of a select or a Django QuerySet, in the order of `cursor`."""
        size = _number("over", "batch_size", batch_size)
        return cls(source=RecordSource(select, cursor), batch_size=size)

    @classmethod
    def csv(
        cls,
        path: str | os.PathLike[str],
        batch_size: int,
        *,
        encoding: str = "utf-8",
        **csv_options: Any,
    ) -> Batches:
        """Divide the rows of a CSV file; takes the options of `csv.reader`."""
        if not isinstance(path, str | os.PathLike):
            raise InvalidInput(f"Batches.csv() takes the path of a file, got {shown(path)}.")
        size = _number("csv", "batch_size", batch_size)
        return cls(source=CsvSource(os.fspath(path), encoding, csv_options), batch_size=size)


def _number(
    method: str, name: str, value: object, at_least: int = 1, at_most: int | None = None
) -> int:
    return checks.whole_number(
        f"Batches.{method}(): {name}", value, at_least=at_least, at_most=at_most
    )


def _range(given: object) -> BatchRange:
    match given:
        case BatchRange():
            return given
        case Mapping() if {"start", "end"} <= given.keys() <= set(_KEYS):
            return BatchRange(**given)
        case [start, end]:
            return BatchRange(start, end)
        case [start, end, metadata]:
            return BatchRange(start, end, metadata)
        case _:
            raise InvalidInput(
                f"Batches.ranges() got {shown(given)}, which is not a range. Pass a gd.BatchRange, "
                f"(start, end), (start, end, metadata), or a dict with start, end and metadata."
            )


def _refuse_overlap(parts: Sequence[BatchRange]) -> None:
    ordered = sorted((part for part in parts if part.is_numeric), key=attrgetter("start"))
    for former, part in pairwise(ordered):
        if part.start < former.end:
            raise InvalidInput(
                f"The ranges {former.words} and {part.words} overlap, so items would be done "
                f"twice. The end of a range is not part of it: begin the next one there."
            )
