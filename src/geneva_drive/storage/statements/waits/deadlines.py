"""The deadlines of waits, which requests for approval and waits for events store alike."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, Table, select

from geneva_drive.storage.schema.records import Key


def due_deadlines(
    connection: Connection, table: Table, now: datetime, limit: int, passed_over: Collection[Key]
) -> list[tuple[Key, Key]]:
    """Return up to `limit` rows past their deadline, each with its workflow's id."""
    c = table.c
    query = select(c.id, c.workflow_id).where(c.wakes_at.is_not(None), c.wakes_at <= now)
    if passed_over:
        query = query.where(c.id.not_in(passed_over))
    rows = connection.execute(query.order_by(c.wakes_at).limit(limit))
    return [(row[0], row[1]) for row in rows]
