"""Statements on limits and their slots."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, delete, func, insert, select, update
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.limit import Limit
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.records import Key, LimitRecord
from geneva_drive.storage.schema.tables import Tables


class Limits:
    """The rows of `limits`, each the lock of its key, and of `limit_slots`, one for each start.

    A slot is taken while its execution is in progress under its claim token. The claim is the
    slot's lease: slots need no release, and a dead worker loses its slots with its claims.
    """

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._table = tables.limits
        self._slots = tables.limit_slots
        self._executions = tables.step_executions
        self._dialect = dialect

    def insert(self, connection: Connection, limit_key: str) -> None:
        connection.execute(insert(self._table).values(limit_key=limit_key, last_number=0))

    def lock(self, connection: Connection, keys: Collection[str]) -> dict[str, LimitRecord]:
        """Lock and read limits in the order of their keys, before any workflow is locked."""
        c = self._table.c
        query = select(self._table).where(c.limit_key.in_(keys)).order_by(c.limit_key)
        rows = connection.execute(self._dialect.lock(query)).mappings()
        return {row["limit_key"]: LimitRecord(**row) for row in rows}

    def get(self, connection: Connection, limit_key: str) -> LimitRecord | None:
        query = select(self._table).where(self._table.c.limit_key == limit_key)
        row = connection.execute(query).mappings().first()
        return None if row is None else LimitRecord(**row)

    def change(self, connection: Connection, limit_key: str, **values: Any) -> None:
        connection.execute(
            update(self._table).where(self._table.c.limit_key == limit_key).values(**values)
        )

    def due(self, connection: Connection, now: datetime, most: int) -> Sequence[str]:
        """Return limits whose next check is due, because executions wait for them."""
        c = self._table.c
        due = select(c.limit_key).where(c.wakes_at.is_not(None), c.wakes_at <= now)
        return connection.scalars(due.order_by(c.wakes_at).limit(most)).all()

    def awaited(self, connection: Connection, keys: Collection[str]) -> Sequence[str]:
        """Return the limits for which executions wait."""
        c = self._table.c
        waits = select(c.limit_key).where(c.limit_key.in_(keys), c.wakes_at.is_not(None))
        return connection.scalars(waits).all()

    def running(self, connection: Connection, limit_key: str, *, counts_starts: bool) -> int:
        """Count the taken slots, and clear those whose execution has ended."""
        c = self._slots.c
        found = self._held(connection, limit_key)
        over = [number for number, holder in found if holder is None]
        if over:
            mine = and_(c.limit_key == limit_key, c.number.in_(over))
            connection.execute(
                update(self._slots).where(mine).values(claim_token=None)
                if counts_starts
                else delete(self._slots).where(mine)
            )
        return len(found) - len(over)

    def count_running(self, connection: Connection, limit_key: str) -> int:
        return sum(holder is not None for _, holder in self._held(connection, limit_key))

    def _held(self, connection: Connection, limit_key: str) -> list[tuple[int, Key | None]]:
        """Return the slots with a token, each with the execution that holds it, or None."""
        c = self._slots.c
        query = (
            select(c.number, self._executions.c.id)
            .select_from(self._slots.outerjoin(self._executions, self._holds()))
            .where(c.limit_key == limit_key, c.claim_token.is_not(None))
        )
        return [(row[0], row[1]) for row in connection.execute(query)]

    def _holds(self) -> ColumnElement[bool]:
        """Return the join condition of a slot and the execution that holds it."""
        executions, c = self._executions.c, self._slots.c
        return and_(executions.id == c.execution_id, executions.claim_token == c.claim_token)

    def starts(
        self, connection: Connection, limit_key: str, *, above: int, most: int
    ) -> list[tuple[int, datetime]]:
        """Return the oldest starts with a number greater than `above`, in order."""
        c = self._slots.c
        query = (
            select(c.number, c.started_at)
            .where(c.limit_key == limit_key, c.number > above)
            .order_by(c.number)
            .limit(most)
        )
        return [(row[0], row[1]) for row in connection.execute(query)]

    def count_starts(self, connection: Connection, limit_key: str, after: datetime) -> int:
        c = self._slots.c
        query = select(func.count()).where(c.limit_key == limit_key, c.started_at > after)
        return connection.scalar(query) or 0

    def take(
        self,
        connection: Connection,
        limit_key: str,
        number: int,
        *,
        execution_id: Key,
        claim_token: str | None,
        started_at: datetime,
    ) -> None:
        connection.execute(
            insert(self._slots).values(
                limit_key=limit_key,
                number=number,
                execution_id=execution_id,
                claim_token=claim_token,
                started_at=started_at,
            )
        )

    def forget_starts(self, connection: Connection, limit_key: str, *, up_to: int) -> None:
        """Delete starts that no longer count for a rate, unless their execution is running."""
        c = self._slots.c
        connection.execute(
            delete(self._slots).where(
                c.limit_key == limit_key, c.number <= up_to, c.claim_token.is_(None)
            )
        )

    def unused_since(
        self, connection: Connection, before: datetime, most: int
    ) -> Sequence[LimitRecord]:
        """Lock limits without waiting or running executions, and without a start since `before`."""
        c, slots = self._table.c, self._slots.c
        taken = self._slots.join(self._executions, self._holds())
        runs = select(slots.number).select_from(taken).where(slots.limit_key == c.limit_key)
        query = (
            select(self._table)
            .where(c.wakes_at.is_(None), c.used_at < before, ~runs.exists())
            .order_by(c.limit_key)
            .limit(most)
        )
        rows = connection.execute(self._dialect.lock(query, skip_locked=True)).mappings()
        return [LimitRecord(**row) for row in rows]

    def forget(self, connection: Connection, keys: Collection[str]) -> int:
        """Delete limits with their slots, and count them."""
        connection.execute(delete(self._slots).where(self._slots.c.limit_key.in_(keys)))
        gone = delete(self._table).where(self._table.c.limit_key.in_(keys))
        return connection.execute(gone).rowcount

    @staticmethod
    def bounds(limit: Limit) -> dict[str, Any]:
        """Return the bounds of a limit, as columns."""
        window = limit.window
        return {"concurrency": limit.concurrency, "rate": window and window.words}
