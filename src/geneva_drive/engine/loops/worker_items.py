"""The items of a batch worker's own range: numbers, records, or rows of a CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

from geneva_drive.definition.batches import Batches, CsvSource, RecordSource
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.batch import BatchPart
from geneva_drive.iteration.loop_run import LoopRun
from geneva_drive.iteration.sources import csv_files, records, sequences

_CHUNK = 1000


class WorkerItems:
    """What `batch.items()` loops over without an iterable.

    The bounds of records are cursors: the range begins behind the record of `start` and ends with
    that of `end`, and None is an open bound.
    """

    def __init__(self, run: LoopRun, part: BatchPart, batches: Batches) -> None:
        self._run = run
        self._part = part
        self._batches = batches

    def after(self, position: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the items from a position on, each with its cursor."""
        part, source = self._part, self._batches.source
        match source:
            case RecordSource():
                query = self._run.backend.open_query(source.query, source.cursor)
                bounded = query if part.end is None else query.up_to(part.end)
                return records.pairs(bounded, position, _CHUNK)
            case CsvSource():
                return csv_files.numbered(
                    source.path,
                    sequences.index_of(position),
                    part.end,
                    encoding=source.encoding,
                    **source.options,
                )
            case None if part.is_numeric:
                return part.integers(position)
            case None:
                raise InvalidInput(
                    f"Batch {part.id} covers {shown(part.start)} to {shown(part.end)}, and only "
                    f"your code knows its items. Pass them: batch.items(...)."
                )
            case _:
                assert_never(source)
