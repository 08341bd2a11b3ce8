"""The claim on PostgreSQL: one statement, which reads only the first rows of each lane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection

from geneva_drive.storage.dialects import driver
from geneva_drive.storage.dialects.claim_request import ClaimRequest, Row, Taken, read_taken
from geneva_drive.storage.schema.records import CLAIMED_WORKFLOW_COLUMNS, EXECUTION_COLUMNS
from geneva_drive.storage.schema.tables import Tables

# The candidates are read without locks: locking inside each lane would lock far more rows than are
# claimed. Rows that another worker is claiming are skipped. The result is in the order to run.
# The server may keep a plan that it made while the table was small. A condition inside IS TRUE that
# refers to both tables matches no index or scan, so every plan finds the rows by their keys.
_BY_LANES = """
WITH lanes AS (
    SELECT e.id, e.priority{room},
           row_number() OVER (PARTITION BY {lane} ORDER BY e.priority DESC, e.id) AS turn
    FROM {lanes}
    CROSS JOIN LATERAL (
        SELECT id, priority FROM {executions}
        WHERE claimable AND type = lane.type{on_queue}
        ORDER BY priority DESC, id LIMIT {reach}
    ) e
), head AS MATERIALIZED (
    SELECT id, priority, turn FROM lanes{where_room}
    ORDER BY priority DESC, turn, id LIMIT {reach}
), taken AS (
    SELECT e.id, head.turn FROM head JOIN {executions} e ON e.id = head.id
    WHERE (e.claimable AND head.turn > 0) IS TRUE
    ORDER BY head.priority DESC, head.turn, head.id LIMIT %(limit)b
    FOR UPDATE OF e SKIP LOCKED
)"""
_BY_NAME = """
WITH taken AS (
    SELECT e.id, 1 AS turn FROM {executions} e
    WHERE e.id = %(named)b AND (e.claimable AND e.type IN ({types}){on_queue}) IS TRUE
    FOR UPDATE OF e SKIP LOCKED
)"""
_CLAIMED = """, claimed AS (
    UPDATE {executions} e
    SET state = 'in_progress', claimable = false, wakes_at = NULL,
        worker_id = %(worker_id)b, claim_token = %(claim_token)b,
        started_at = COALESCE(e.started_at, GREATEST(e.created_at, %(now)b::timestamptz))
    FROM taken WHERE e.id = taken.id
    RETURNING e.*, taken.turn
)
SELECT {columns} FROM claimed e JOIN {workflows} w ON w.id = e.workflow_id
ORDER BY e.priority DESC, e.turn, e.id
"""
# At most as many executions of a queue as its free capacity.
_PLACE = """, lane.room,
           row_number() OVER (PARTITION BY lane.queue ORDER BY e.priority DESC, e.id) AS place"""


@lru_cache(maxsize=64)
def _statement_for(
    tables: Tables, driver_name: str, types: int, queues: int | None, reach: int
) -> str:
    """Return the statement for this number of types and queues.

    The numbers and the reach are part of its text. As a list or a parameter they would be unknown
    to the planner, which would then plan the statement anew each time.
    """
    lanes = f"(VALUES {_each(types, '%(type_{0})b::text')}) AS t(type)"
    if queues is not None:
        values = _each(queues, "%(queue_{0})b::text, %(room_{0})b::int")
        lanes += f", (VALUES {values}) AS q(queue, room)"
    taken = _BY_LANES.format(
        lane="lane.type" if queues is None else "lane.type, lane.queue",
        lanes=f"(SELECT * FROM {lanes}) AS lane",
        room="" if queues is None else _PLACE,
        where_room="" if queues is None else " WHERE place <= room",
        on_queue="" if queues is None else " AND queue = lane.queue",
        reach=reach,
        executions=tables.quoted(tables.step_executions),
    )
    return _written(tables, driver_name, taken)


@lru_cache(maxsize=64)
def _named_statement_for(tables: Tables, driver_name: str, types: int, queues: int | None) -> str:
    taken = _BY_NAME.format(
        executions=tables.quoted(tables.step_executions),
        types=_each(types, "%(type_{0})b"),
        on_queue="" if queues is None else f" AND e.queue IN ({_each(queues, '%(queue_{0})b')})",
    )
    return _written(tables, driver_name, taken)


def _written(tables: Tables, driver_name: str, taken: str) -> str:
    written = taken + _CLAIMED.format(
        executions=tables.quoted(tables.step_executions),
        workflows=tables.quoted(tables.workflows),
        columns=", ".join(
            [f"e.{name}" for name in EXECUTION_COLUMNS]
            + [f"w.{name}" for name in CLAIMED_WORKFLOW_COLUMNS]
        ),
    )
    # psycopg sends values marked `b` in binary; other drivers have only %s.
    return written if driver_name == "psycopg" else written.replace(")b", ")s")


def _each(count: int, row: str) -> str:
    return ", ".join(f"({row.format(number)})" for number in range(count))


def claim(connection: Connection, tables: Tables, request: ClaimRequest) -> Sequence[Taken]:
    if not request.types or request.queues == {}:
        return []
    values = {
        "worker_id": request.worker_id,
        "claim_token": request.claim_token,
        "now": request.now,
    }
    values |= {f"type_{number}": name for number, name in enumerate(request.types)}
    values |= {f"queue_{number}": name for number, name in enumerate(request.queues or ())}
    kind = (
        tables,
        connection.dialect.driver,
        len(request.types),
        None if request.queues is None else len(request.queues),
    )
    if request.named is not None:
        statement = _named_statement_for(*kind)
        values |= {"named": request.named}
    else:
        # Round the reach up to a power of two, for few different statements.
        statement = _statement_for(*kind, 1 << (request.reach - 1).bit_length())
        rooms = (request.queues or {}).values()
        values |= {"limit": request.limit} | {f"room_{n}": room for n, room in enumerate(rooms)}
    return read_taken(driver.execute(connection, statement, values), _in_utc, _in_utc)


def _in_utc(row: Row) -> Iterable[Any]:
    # The driver returns moments in its session's time zone.
    return [value.astimezone(UTC) if isinstance(value, datetime) else value for value in row]
