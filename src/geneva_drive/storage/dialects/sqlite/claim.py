"""The claim on SQLite: a few plain statements inside BEGIN IMMEDIATE, which locks out writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import Boolean, Connection, Table, Uuid

from geneva_drive.storage.dialects.claim_request import (
    MOST_LANES,
    ClaimRequest,
    Lane,
    Row,
    Taken,
    in_turn,
    lanes_of,
    read_taken,
)
from geneva_drive.storage.dialects.sqlite.statements import (
    SQLiteStatements,
    moment_text,
    places,
    plain,
    read_moment,
)
from geneva_drive.storage.schema.column_types import Moment
from geneva_drive.storage.schema.records import CLAIMED_WORKFLOW_COLUMNS, EXECUTION_COLUMNS
from geneva_drive.storage.schema.tables import Tables

_HEAD = """
SELECT * FROM (
    SELECT id, priority, {lane} FROM {{executions}}
    WHERE claimable = 1 AND type = ?{on_queue} ORDER BY priority DESC, id LIMIT ?
)
"""
_NAMED = """
SELECT id FROM {executions} WHERE id = ? AND +claimable = 1 AND +type IN ({types}){on_queue}
"""
# A slow clock must not start an execution before it was created.
_TAKE = """
UPDATE {executions} SET state = 'in_progress', claimable = 0, wakes_at = NULL, worker_id = ?,
    claim_token = ?, started_at = COALESCE(started_at, MAX(created_at, ?))
WHERE id IN ({places})
"""
_READ = f"""
SELECT {", ".join([f"e.{name}" for name in EXECUTION_COLUMNS])},
    {", ".join([f"w.{name}" for name in CLAIMED_WORKFLOW_COLUMNS])}
FROM {{executions}} e CROSS JOIN {{workflows}} w ON w.id = e.workflow_id
WHERE e.id IN ({{places}})
"""


def claim(connection: Connection, tables: Tables, request: ClaimRequest) -> Sequence[Taken]:
    """Claim the first rows of the worker's lanes inside BEGIN IMMEDIATE."""
    statements = SQLiteStatements(connection, tables)
    keys = _heads(statements, request) if request.named is None else _named(statements, request)
    if not keys:
        return []
    now = moment_text(request.now)
    statements.execute_among(_TAKE, keys, request.worker_id, request.claim_token, now)
    found = {row[0]: row for row in statements.execute_among(_READ, keys)}
    return read_taken(
        [found[key] for key in keys],
        _reader(tables.step_executions, EXECUTION_COLUMNS),
        _reader(tables.workflows, CLAIMED_WORKFLOW_COLUMNS),
    )


def _heads(statements: SQLiteStatements, request: ClaimRequest) -> list[Any]:
    """Return the keys to claim, in order."""
    lanes = lanes_of(request.types, request.queues)
    return in_turn(request, _look(statements, lanes, request.limit))[: request.limit]


def _look(
    statements: SQLiteStatements, lanes: Sequence[Lane], limit: int
) -> Iterator[tuple[Any, int, Lane]]:
    for start in range(0, len(lanes), MOST_LANES):
        portion = lanes[start : start + MOST_LANES]
        by_queue = portion[0][1] is not None
        values: list[Any] = []
        for lane in portion:
            values += [*(lane if by_queue else lane[:1]), limit]
        for key, priority, number in statements.execute(_heads_of(len(portion), by_queue), values):
            yield key, priority, portion[number]


@lru_cache(maxsize=64)
def _heads_of(lanes: int, by_queue: bool) -> str:
    on_queue = " AND queue = ?" if by_queue else ""
    return "UNION ALL".join(_HEAD.format(lane=n, on_queue=on_queue) for n in range(lanes))


def _named(statements: SQLiteStatements, request: ClaimRequest) -> list[Any]:
    """Return the key of the named execution, if it is free and this worker serves it."""
    queues = list(request.queues or ())
    rows = statements.execute(
        _NAMED,
        [plain(request.named), *request.types, *queues],
        types=places(len(request.types)),
        on_queue=f" AND +queue IN ({places(len(queues))})" if queues else "",
    )
    return [key for (key,) in rows]


@lru_cache(maxsize=16)
def _reader(table: Table, names: Sequence[str]) -> Callable[[Row], list[Any]]:
    """Return a function that converts a driver's row to Python values."""
    of_kinds: dict[type[Any], Callable[[Any], Any]] = {
        Moment: read_moment,
        Uuid: UUID,
        Boolean: bool,
    }
    kinds = [type(table.c[name].type) for name in names]
    to_read = [(place, of_kinds[kind]) for place, kind in enumerate(kinds) if kind in of_kinds]

    def read(row: Row) -> list[Any]:
        values = list(row)
        for place, read_value in to_read:
            if (value := values[place]) is not None:
                values[place] = read_value(value)
        return values

    return read
