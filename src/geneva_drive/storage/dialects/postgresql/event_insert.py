"""Publication on PostgreSQL: one statement stores an event and releases the only wait for it."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import Connection
from sqlalchemy.engine import Dialect

from geneva_drive.storage.dialects import driver
from geneva_drive.storage.dialects.event_insert import (
    FoundListeners,
    Publication,
    ReleasedWait,
    Stored,
    UndeliveredEvent,
)
from geneva_drive.storage.dialects.postgresql.insert import placeholders
from geneva_drive.storage.schema.tables import Tables

# Handles only the plain case: one open wait for one type, without a match, of a workflow that is
# not held. The delivery after the commit handles all other cases, and rows that another transaction
# has locked: that transaction may be waiting for the event's id, which this one holds. FOR UPDATE
# checks the current version of each row, not the one that the statement first saw. LIMIT 2 is
# enough to know that there is only one, and makes the planner expect few rows, whatever the
# statistics say.
_PUBLISH = """
WITH stored AS (
    INSERT INTO {events} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING RETURNING id
), found AS MATERIALIZED (
    SELECT wait_id, pattern FROM {listeners}
    WHERE pattern = ANY(%(patterns)b::text[]) AND awaited_key = ANY(%(keys)b::text[])
      AND wait_id IS NOT NULL LIMIT 2
), heard AS MATERIALIZED (
    SELECT stored.id AS event_id, l.id AS wait_id, w.id AS workflow_id, e.id AS execution_id
    FROM stored CROSS JOIN found
    JOIN {waits} l ON l.id = found.wait_id
    JOIN {workflows} w ON w.id = l.workflow_id
    JOIN {executions} e ON e.id = l.execution_id
    WHERE (SELECT count(*) FROM found) = 1
      AND l.state = 'open' AND NOT l.has_match AND l.types = '["' || found.pattern || '"]'
      AND (l.expires_at IS NULL OR l.expires_at > %(now)b::timestamptz)
      AND (%(until)b::timestamptz IS NULL OR l.opened_at <= %(until)b::timestamptz)
      AND w.state = 'ready' AND e.state = 'waiting' AND e.stop IS NULL
    FOR UPDATE OF l, w, e SKIP LOCKED
), closed AS (
    UPDATE {waits} l SET state = 'heard', wakes_at = NULL, arrived = NULL
    FROM heard WHERE l.id = heard.wait_id
), silenced AS (
    DELETE FROM {listeners} l USING heard WHERE l.wait_id = heard.wait_id
), released AS (
    UPDATE {executions} e SET state = 'scheduled', claimable = true, wakes_at = NULL,
        limit_key = NULL, worker_id = NULL, claim_token = NULL
    FROM heard WHERE e.id = heard.execution_id
), moved AS (
    UPDATE {workflows} w SET open_waits = w.open_waits - 1, updated_at = %(now)b::timestamptz
    FROM heard WHERE w.id = heard.workflow_id
), received AS (
    INSERT INTO {receipts} ({id_column}workflow_id, event_id, wait_id, place, at)
    SELECT {receipt_id}workflow_id, event_id, wait_id, 0, %(now)b::timestamptz FROM heard
), resumed AS (
    INSERT INTO {resume_requests} ({id_column}workflow_id, kind, trigger_id, data, requested_at,
        executed_at)
    SELECT {request_id}workflow_id, 'event', event_id::text, %(data)b::text, %(now)b::timestamptz,
        %(now)b::timestamptz
    FROM heard
)
SELECT stored.id, heard.wait_id, heard.workflow_id, heard.execution_id{notice}
FROM stored LEFT JOIN heard ON true
"""
# The notice names the execution, like the notice of a start.
_NOTICE = """, CASE WHEN heard.execution_id IS NOT NULL
    THEN pg_notify(%(channel)b::text, %(sender)b::text || ':' || heard.execution_id) END"""

# One snapshot, taken after the event's commit: a wait that is not in it will be committed later,
# and then finds the event.
_LOOK = """
WITH found AS MATERIALIZED (
    SELECT wait_id, workflow_id, type FROM {listeners}
    WHERE pattern = ANY(%(patterns)b::text[]) AND awaited_key = ANY(%(keys)b::text[])
), marked AS (
    UPDATE {events} SET undelivered_at = NULL
    WHERE id = %(key)b AND undelivered_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM found){passing}
    RETURNING 1
)
SELECT wait_id, workflow_id, type, false FROM found
UNION ALL
SELECT NULL, NULL, NULL, true FROM marked
"""
_PASSING = " AND set_config('synchronous_commit', 'off', true) = 'off'"


def publish(connection: Connection, tables: Tables, new: Publication) -> Stored | None:
    """Store an event; None if its source has published the id before."""
    row = tables.given(new.event)
    statement = _publish_statement_for(
        tables, connection.dialect, tuple(row), tells=new.notice is not None
    )
    values = {f"v_{name}": value for name, value in row.items()}
    values |= {
        "patterns": list(new.patterns),
        "keys": [new.event["event_key"], ""],
        "now": new.event["published_at"],
        "until": new.event["expires_at"],
        "data": new.resume_data,
    }
    if "id" in row:
        [receipt, request] = tables.keyed([{}, {}])
        values |= {"receipt_id": receipt["id"], "request_id": request["id"]}
    if new.notice is not None:
        values |= {"channel": new.notice.channel, "sender": new.notice.sender}
    found = driver.execute(connection, statement, values)
    if not found:
        return None
    key, wait_id, workflow_id, execution_id = found[0][:4]
    released = None if wait_id is None else ReleasedWait(wait_id, workflow_id, execution_id)
    return Stored(key, released)


@lru_cache(maxsize=64)
def _publish_statement_for(
    tables: Tables, dialect: Dialect, columns: tuple[str, ...], *, tells: bool
) -> str:
    has_keys = "id" in columns
    written = _PUBLISH.format(
        **_names(tables),
        columns=", ".join(columns),
        values=placeholders("v_", tables.events, columns, dialect),
        id_column="id, " if has_keys else "",
        receipt_id="%(receipt_id)b::uuid, " if has_keys else "",
        request_id="%(request_id)b::uuid, " if has_keys else "",
        notice=_NOTICE if tells else "",
    )
    return _in_words_of(dialect, written)


def find_listeners(
    connection: Connection, tables: Tables, event: UndeliveredEvent
) -> FoundListeners:
    """Return the listeners of a stored event; if there are none, mark the event as delivered."""
    statement = _look_statement_for(tables, connection.dialect, is_alone=event.is_alone)
    values = {
        "key": event.key,
        "patterns": list(event.patterns),
        "keys": [event.event_key, ""],
    }
    found = driver.execute(connection, statement, values)
    return [row[:3] for row in found if not row[3]], any(row[3] for row in found)


@lru_cache(maxsize=64)
def _look_statement_for(tables: Tables, dialect: Dialect, *, is_alone: bool) -> str:
    passing = _PASSING if is_alone else ""
    return _in_words_of(dialect, _LOOK.format(**_names(tables), passing=passing))


def _names(tables: Tables) -> dict[str, str]:
    return {
        "events": tables.quoted(tables.events),
        "listeners": tables.quoted(tables.event_listeners),
        "waits": tables.quoted(tables.event_waits),
        "receipts": tables.quoted(tables.event_receipts),
        "workflows": tables.quoted(tables.workflows),
        "executions": tables.quoted(tables.step_executions),
        "resume_requests": tables.quoted(tables.resume_requests),
    }


def _in_words_of(dialect: Dialect, written: str) -> str:
    # psycopg sends values marked `b` in binary; other drivers have only %s.
    return written if dialect.driver == "psycopg" else written.replace(")b", ")s")
