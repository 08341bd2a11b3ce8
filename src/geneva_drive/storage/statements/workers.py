"""Statements on workers: their heartbeats, and the code that they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, RowMapping, delete, insert, select, type_coerce, update

from geneva_drive.serialization import typed_json
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.column_types import Moment
from geneva_drive.storage.schema.records import WorkerRecord
from geneva_drive.storage.schema.tables import Tables

_LONG_AGO = datetime.fromisoformat("2000-01-01T00:00:00+00:00")


class Workers:
    """The rows of `workers`, with times from the database, as the clocks of machines differ."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._table = tables.workers
        self._dialect = dialect

    def register(
        self,
        connection: Connection,
        worker_id: str,
        *,
        name: str,
        queues: Sequence[str] | None,
        signatures: Mapping[str, str],
        lease: timedelta | None = None,
    ) -> None:
        now = self._dialect.now()
        connection.execute(
            insert(self._table).values(
                id=worker_id,
                name=name,
                queues=None if queues is None else typed_json.dump(list(queues)),
                signatures=typed_json.dump(dict(signatures)),
                started_at=now,
                heartbeat_at=now,
                lease_seconds=None if lease is None else lease.total_seconds(),
            )
        )

    def beat(self, connection: Connection, worker_id: str, trouble: str | None = None) -> bool:
        """Renew the lease; False if another worker has declared this worker lost.

        `trouble` is the database trouble that the worker is waiting out.
        """
        c = self._table.c
        statement = (
            update(self._table)
            .where(c.id == worker_id, c.stopped_at.is_(None))
            .values(heartbeat_at=self._dialect.now(), trouble=trouble)
        )
        return connection.execute(statement).rowcount == 1

    def stop(self, connection: Connection, worker_id: str) -> None:
        """Mark a worker as stopped; its row is kept for a while, and shows which code it ran."""
        now = self._dialect.now()
        connection.execute(
            update(self._table)
            .where(self._table.c.id == worker_id)
            .values(heartbeat_at=now, stopped_at=now)
        )

    def all(self, connection: Connection, lease: timedelta) -> list[WorkerRecord]:
        """Return all workers, each judged by its own lease, or by `lease` if it has none.

        A process with a shorter lease must not take the work of healthy workers.
        """
        now = type_coerce(self._dialect.now(), Moment)
        query = select(self._table, now.label("database_now")).order_by(self._table.c.started_at)
        return [
            WorkerRecord(
                id=row["id"],
                name=row["name"],
                queues=None if row["queues"] is None else tuple(typed_json.load(row["queues"])),
                signatures=typed_json.load(row["signatures"]),
                started_at=row["started_at"],
                heartbeat_at=row["heartbeat_at"],
                stopped_at=row["stopped_at"],
                trouble=row["trouble"],
                heard_within_lease=row["heartbeat_at"] > row["database_now"] - _lease(row, lease),
                silent_for=row["database_now"] - row["heartbeat_at"],
            )
            for row in connection.execute(query).mappings()
        ]

    def bury(self, connection: Connection, worker_ids: Sequence[str], last_heard: datetime) -> None:
        """Delete workers without a heartbeat since `last_heard`."""
        c = self._table.c
        connection.execute(
            delete(self._table).where(c.id.in_(worker_ids), c.heartbeat_at <= last_heard)
        )

    def forget(self, connection: Connection, worker_ids: Sequence[str]) -> None:
        connection.execute(delete(self._table).where(self._table.c.id.in_(worker_ids)))

    def expire_all(self, connection: Connection) -> None:
        """Expire every lease, as if all workers had been silent for years; for tests."""
        connection.execute(update(self._table).values(heartbeat_at=_LONG_AGO))

    def expire(self, connection: Connection, ids: Sequence[str]) -> None:
        """Expire the leases of some workers; for tests."""
        some = update(self._table).where(self._table.c.id.in_(ids))
        connection.execute(some.values(heartbeat_at=_LONG_AGO))


def _lease(row: RowMapping, lease: timedelta) -> timedelta:
    own = row["lease_seconds"]
    return lease if own is None else timedelta(seconds=own)
