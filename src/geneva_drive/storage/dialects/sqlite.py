"""SQLite: one writer at a time, and BEGIN IMMEDIATE is its lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Select, event, func, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.errors import InvalidInput
from geneva_drive.settings import Settings
from geneva_drive.storage.dialects.base import Dialect

READ_ONLY_OPTION = "geneva_reads"
_BUSY_TIMEOUT_MS = 30_000


class SQLite(Dialect):
    """SQLite with a write-ahead log."""

    def __init__(self) -> None:
        self._writer = threading.RLock()

    def prepare(self, engine: Engine, settings: Settings) -> None:
        if engine.url.database in (None, "", ":memory:") or "mode=memory" in str(engine.url):
            raise InvalidInput(
                "An in-memory SQLite database cannot be shared by a worker's threads. "
                "Use a file: sqlite:///geneva.db."
            )
        synchronous = settings.sqlite_durability.upper()

        # On checkout, not on connect: a user's engine may have made connections before us.
        @event.listens_for(engine, "checkout")
        def prepare_once(dbapi_connection: Any, record: Any, proxy: Any) -> None:  # noqa: ARG001 - SQLAlchemy's signature
            if record.info.get("geneva_prepared"):
                return
            # The driver would begin transactions by itself, late and deferred.
            dbapi_connection.isolation_level = None
            for pragma in (
                f"busy_timeout = {_BUSY_TIMEOUT_MS}",
                "journal_mode = WAL",
                f"synchronous = {synchronous}",
                "foreign_keys = ON",
            ):
                dbapi_connection.execute(f"PRAGMA {pragma}").close()
            record.info["geneva_prepared"] = True

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            # A transaction that begins deferred and writes later fails at once, without waiting,
            # when another one has written since.
            reads = connection.get_execution_options().get(READ_ONLY_OPTION)
            connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    @contextmanager
    def writing(self) -> Iterator[None]:
        # SQLite makes waiters poll; threads of one process are better off queueing here.
        if not self._writer.acquire(timeout=_BUSY_TIMEOUT_MS / 1000):
            raise TimeoutError("another thread of this process is writing for too long")
        try:
            yield
        finally:
            self._writer.release()

    def lock(self, query: Select[Any], *, skip_locked: bool = False) -> Select[Any]:  # noqa: ARG002 - no row locks here
        return query

    def now(self) -> ColumnElement[datetime]:
        return func.strftime("%Y-%m-%d %H:%M:%f", "now")

    def is_transient(self, error: DBAPIError) -> bool:
        return super().is_transient(error) or self.is_busy(error)

    def is_read_only(self, error: DBAPIError) -> bool:
        return "readonly" in str(error.orig)

    def is_busy(self, error: DBAPIError) -> bool:
        return "is locked" in str(error.orig)

    def is_unreachable(self, error: DBAPIError) -> bool:
        return "unable to open" in str(error.orig) or "not a database" in str(error.orig)

    def explain_state(self, connection: Connection) -> list[tuple[bool, str]]:
        mode = connection.scalar(text("PRAGMA journal_mode"))
        return [(mode == "wal", f"journal mode is {mode!r}")]
