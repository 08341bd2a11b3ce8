"""The items of a batch worker's own range: numbers, records, or rows of a CSV file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, assert_never

from geneva_drive.definition.batches import Batches, CsvSource, RecordSource
from geneva_drive.display import shown
from geneva_drive.engine.transitions.batch_workers import FIRST_ROWS, BatchWorker
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.batch import BatchPart
from geneva_drive.iteration.loop_run import LoopRun
from geneva_drive.iteration.sources import csv_files, records, sequences
from geneva_drive.serialization import typed_json

Pairs = Iterator[tuple[Any, Any]]

_CHUNK = 1000


def own_items(
    batches: Callable[[], Batches],
    run: LoopRun,
    part: BatchPart,
    worker: BatchWorker,
    position: Any,
) -> Pairs:
    """Return the items of `batch.items()` from a position on, each with its cursor.

    `batches` runs the body of the batch to get the source; only records and rows need it.
    """
    if worker.has_numbers:
        return ((number, number + 1) for number in range(position, part.end))
    source = batches().source
    match source:
        case RecordSource():
            # The bounds are cursors; None sets no bound.
            query = run.backend.open_query(source.query, source.cursor)
            bounded = query if part.end is None else query.up_to(part.end)
            return records.pairs(bounded, position, _CHUNK)
        case CsvSource():
            place = None if worker.item == FIRST_ROWS else typed_json.load(worker.item)
            return _rows(source, part, place, sequences.index_of(position))
        case None:
            raise InvalidInput(
                f"Batch {part.id} covers {shown(part.start)} to {shown(part.end)}, and only your "
                f"code knows its items. Pass them: batch.items(...)."
            )
        case _:
            assert_never(source)


def _rows(source: CsvSource, part: BatchPart, place: Any, first: int) -> Pairs:
    """Yield the rows from number `first` on; the rows of the part begin at `place` in the file."""
    rows = csv_files.pairs(source.path, place, encoding=source.encoding, **source.options)
    wanted = islice(rows, max(0, first - part.start), part.end - part.start)
    return ((row, number) for number, (row, _) in enumerate(wanted, first + 1))
