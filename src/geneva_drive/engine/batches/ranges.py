"""Divide the work of a batch or map: one range or item for each worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice
from typing import Any, assert_never

from geneva_drive.definition.batches import MAX_BATCHES, Batches, CsvSource, RecordSource
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.dynamic.stored_batch import StoredBatch
from geneva_drive.display import shown
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.loops import record_queries
from geneva_drive.engine.transitions.batch_workers import FIRST_ROWS, RECORDS, BatchWorker
from geneva_drive.engine.transitions.outcome import Expanded
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.sources import csv_files
from geneva_drive.serialization import typed_json
from geneva_drive.states import ExpansionKind


def expand_batch(
    environment: Environment, definition: Definition, node: Node, returned: object
) -> Expanded:
    """Return the workers of a batch, from what its body returned."""
    batches = require_batches(node, returned)
    expansion = _expansion_of(definition, node)
    workers = tuple(_workers(environment, expansion, batches))
    reason = batches.reason
    if not workers and reason is None:
        reason = "There is nothing to do."
    return Expanded(
        kind=ExpansionKind.BATCH,
        node_id=expansion,
        workers=workers,
        terms=node.expansion,
        reason=reason,
    )


def require_batches(node: Node, returned: object) -> Batches:
    if isinstance(returned, Batches):
        return returned
    raise InvalidInput(
        f"Batch {node.name!r} returned {shown(returned)}. Return a gd.Batches, such as "
        f"gd.Batches.split(total=1_000, batch_size=100)."
    )


def _expansion_of(definition: Definition, batch: Node) -> str:
    """Return the id of the node that a batch's workers belong to."""
    if isinstance(batch.declared, StoredBatch):
        return batch.declared.worker
    return definition.worker_of(batch.name).name


def expand_map(node: Node, items: object, largest: int) -> Expanded:
    """Return one worker per item of a map; `largest` limits the size of an item."""
    if isinstance(items, str | bytes | dict) or not isinstance(items, Iterable):
        raise InvalidInput(f"The items of map {node.name!r} must be a list, got {shown(items)}.")
    listed = list(items)
    if len(listed) > MAX_BATCHES:
        raise InvalidInput(
            f"Map {node.name!r} has {len(listed):,} items; the most is {MAX_BATCHES:,}. Use a "
            f"batch, whose workers process many items each."
        )
    workers = tuple(
        BatchWorker(expansion=node.name, number=number, item=_dumped(node, number, item, largest))
        for number, item in enumerate(listed, 1)
    )
    return Expanded(
        kind=ExpansionKind.MAP, node_id=node.name, workers=workers, terms=node.expansion
    )


def _dumped(node: Node, number: int, item: object, largest: int) -> str:
    what = f"Item {number} of map {node.name!r}"
    text = typed_json.dump(item, what)
    if len(text) > largest:
        raise InvalidInput(
            f"{what} is {len(text):,} characters of JSON; the most is {largest:,} "
            f"(max_payload_size). Pass a reference to it instead."
        )
    return text


def _workers(environment: Environment, expansion: str, batches: Batches) -> Iterator[BatchWorker]:
    source = batches.source
    match source:
        case None:
            for number, part in enumerate(batches.parts, 1):
                yield BatchWorker(
                    expansion=expansion,
                    number=number,
                    start=typed_json.dump(part.start),
                    end=typed_json.dump(part.end),
                    metadata=typed_json.dump(part.metadata),
                )
        case RecordSource():
            yield from _of_records(environment, expansion, source, batches.batch_size or 1)
        case CsvSource():
            yield from _of_rows(expansion, source, batches.batch_size or 1)
        case _:
            assert_never(source)


def _of_records(
    environment: Environment, expansion: str, source: RecordSource, size: int
) -> Iterator[BatchWorker]:
    """Yield workers for ranges of cursors: each does the records after `start`, up to `end`.

    The last worker has no end, so that every record belongs to exactly one worker.
    """
    query = record_queries.open_query(
        source.query, source.cursor, lambda: record_queries.session_of(environment), detach=True
    )
    borders = list(islice(query.cut(size), MAX_BATCHES + 1))
    _refuse_too_many(borders)
    bounds = [None, *borders[:-1], None]
    for number in range(1, len(borders) + 1):
        yield BatchWorker(
            expansion=expansion,
            number=number,
            start=typed_json.dump(bounds[number - 1]),
            end=typed_json.dump(bounds[number]),
            item=RECORDS,
        )


def _of_rows(expansion: str, source: CsvSource, size: int) -> Iterator[BatchWorker]:
    """Yield workers for ranges of row numbers, each with the place in the file of its rows."""
    cursors = (cursor for _, cursor in _rows(source))
    place: Any = None
    start = 0
    for number in count(1):
        part = list(islice(cursors, size))
        if not part:
            return
        _refuse_too_many(range(number))
        end = start + len(part)
        yield BatchWorker(
            expansion=expansion,
            number=number,
            start=str(start),
            end=str(end),
            item=FIRST_ROWS if place is None else typed_json.dump(place),
        )
        place, start = part[-1], end


def _rows(source: CsvSource) -> Iterator[tuple[Any, Any]]:
    return csv_files.pairs(source.path, None, encoding=source.encoding, **source.options)


def _refuse_too_many(found: Sequence[Any]) -> None:
    if len(found) > MAX_BATCHES:
        raise InvalidInput(
            f"The batch has more than {MAX_BATCHES:,} workers. Pass a larger batch_size."
        )
