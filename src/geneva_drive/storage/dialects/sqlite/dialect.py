"""SQLite: one writer at a time, which holds the lock of BEGIN IMMEDIATE."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Engine, Select, Table, event, func, or_, select
from sqlalchemy.engine import URL
from sqlalchemy.sql.elements import ColumnElement, UnaryExpression
from sqlalchemy.sql.operators import custom_op

from geneva_drive.errors import InvalidInput
from geneva_drive.internal_backoff import InternalBackoff
from geneva_drive.settings import Settings
from geneva_drive.storage.dialects.base import Dialect, Started
from geneva_drive.storage.dialects.claim_request import ClaimRequest, Taken
from geneva_drive.storage.dialects.completion_batch import Completed, CompletionBatch
from geneva_drive.storage.dialects.connection_options import WRITES_OPTION, commits_by_itself
from geneva_drive.storage.dialects.health_check import Look, Thresholds
from geneva_drive.storage.dialects.hints import Hints, Notice, Write
from geneva_drive.storage.dialects.sqlite import health
from geneva_drive.storage.dialects.sqlite.change_counter import ChangeCounter
from geneva_drive.storage.dialects.sqlite.claim import claim
from geneva_drive.storage.dialects.sqlite.complete import complete
from geneva_drive.storage.dialects.sqlite.insert import start
from geneva_drive.storage.dialects.trouble import WriterHeld
from geneva_drive.storage.schema.records import Key, NodeKey
from geneva_drive.storage.schema.tables import Tables

# Statements that need no transaction, or cannot run in one; comments may precede them.
READS = re.compile(
    r"(\s|--[^\n]*\n|/\*.*?\*/|\()*"
    r"(SELECT|VALUES|PRAGMA|EXPLAIN|BEGIN|COMMIT|END|ROLLBACK|RELEASE|VACUUM|ATTACH|DETACH"
    r"|WITH\b(?!.*\b(INSERT|UPDATE|DELETE|REPLACE)\b))\b",
    re.IGNORECASE | re.DOTALL,
)
BUSY_TIMEOUT = timedelta(seconds=30)
_RETRY_DELAY = InternalBackoff(timedelta(microseconds=100), longest=timedelta(microseconds=500))


class SQLite(Dialect):
    """SQLite with a write-ahead log."""

    completes_fast = True
    may_lose_connections = False
    transactional_ddl = True  # Alembic's False is about the driver, which a printed script lacks
    own_driver = "pysqlite"
    placeholder = "?"

    def __init__(self) -> None:
        self._writer = threading.RLock()
        # Taken without a timeout: SQLite's busy timeout limits how long a statement may hold it.
        self.writing_alone = self._writer

    def connect_arguments(self, url: URL) -> dict[str, Any]:  # noqa: ARG002 - the servers'
        return {}

    def prepare(self, engine: Engine, settings: Settings) -> None:
        database = engine.url.database or ":memory:"
        if ":memory:" in database or "mode=memory" in str(engine.url):
            raise InvalidInput(
                "An in-memory SQLite database cannot be shared by a worker's threads. "
                "Use a file: sqlite:///geneva.db."
            )
        if event.contains(engine, "begin", _begin_ours):
            return  # several Drives may share a user's engine
        event.listen(engine, "begin", _begin_ours)
        event.listen(engine, "before_cursor_execute", _begin_users)
        synchronous = settings.sqlite_durability.upper()

        # On checkout, not on connect: a user's engine may already have open connections.
        @event.listens_for(engine, "checkout")
        def prepare_once(dbapi_connection: Any, record: Any, proxy: Any) -> None:  # noqa: ARG001 - SQLAlchemy's signature
            if record.info.get("geneva_prepared"):
                return
            # Otherwise the driver begins transactions: only before the first write, and deferred.
            dbapi_connection.isolation_level = None
            for pragma in (
                _busy_timeout(),
                "PRAGMA journal_mode = WAL",
                f"PRAGMA synchronous = {synchronous}",
                "PRAGMA foreign_keys = ON",
            ):
                dbapi_connection.execute(pragma).close()
            record.info["geneva_prepared"] = True

    @contextmanager
    def writing(self) -> Iterator[None]:
        # SQLite polls for its lock, so the threads of one process queue here instead.
        if not self._writer.acquire(timeout=BUSY_TIMEOUT.total_seconds()):
            raise WriterHeld("another thread of this process has been writing for too long")
        try:
            yield
        finally:
            self._writer.release()

    def ensure_transaction(self, connection: Connection) -> None:
        # On an engine that no Drive prepared, the driver begins a transaction only before an
        # INSERT, UPDATE or DELETE. Our savepoint would be outermost, and its release would commit.
        driver_connection: Any = connection.connection.driver_connection
        if not driver_connection.in_transaction:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    def lock(self, query: Select[Any], *, skip_locked: bool = False) -> Select[Any]:  # noqa: ARG002 - no row locks here
        return query

    def looks(self, tables: Tables, thresholds: Thresholds) -> Iterable[tuple[str, Look]]:  # noqa: ARG002 - the servers'
        return [("journal", health.journal)]

    def execute_many(self, cursor: Any, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        cursor.connection.execute("BEGIN IMMEDIATE")
        cursor.executemany(statement, rows)
        cursor.connection.execute("COMMIT")

    def unindexed(self, column: Column[Any]) -> ColumnElement[Any]:
        # On a table that was never analyzed, SQLite expects few rows for each value of an index,
        # and reads all of them instead of looking up some keys. A unary plus disables the index.
        return UnaryExpression(column, operator=custom_op("+"), type_=column.type)

    def among_nodes(self, table: Table, wanted: Collection[NodeKey]) -> ColumnElement[bool]:
        c, pairs = table.c, list(wanted)
        if len({key for key, _ in pairs}) == 1:
            return super().among_nodes(table, pairs)
        # SQLite scans the table for a list of pairs, but looks up alternatives of OR one by one.
        # The last pair is repeated up to a power of two, for few different statements.
        pairs += pairs[-1:] * ((1 << (len(pairs) - 1).bit_length()) - len(pairs))
        return or_(*((c.workflow_id == key) & (c.node_id == node) for key, node in pairs))

    def of_workflow(
        self, table: Table, workflow_id: Key, *conditions: ColumnElement[bool]
    ) -> ColumnElement[bool]:
        # The list of ids is sorted, so that the rows are read in the order of the table instead of
        # that of the index. That takes half the time.
        ids = select(table.c.id).where(table.c.workflow_id == workflow_id, *conditions)
        return table.c.id.in_(ids)

    def now(self) -> ColumnElement[datetime]:
        return func.strftime("%Y-%m-%d %H:%M:%f", "now")

    def is_absent(self, engine: Engine) -> bool:
        name = engine.url.database or ""
        # SQLite creates no folders: without the folder, connecting fails with a clear error.
        is_file = not name.startswith("file:") and Path(name).parent.is_dir()
        return is_file and not Path(name).exists()

    def start(
        self,
        connection: Connection,
        tables: Tables,
        workflow: Mapping[str, Any],
        execution: Mapping[str, Any] | None,
        notice: Notice | None,  # noqa: ARG002 - sent on PostgreSQL
    ) -> Started | None:
        return start(connection, tables, workflow, execution)

    def hints(
        self,
        engine: Engine,
        channel: str,  # noqa: ARG002 - SQLite sends nothing
        write: Write,  # noqa: ARG002
        saving: AbstractContextManager[Any] | None,
    ) -> Hints:
        return ChangeCounter(engine, saving)

    def claim(
        self, connection: Connection, tables: Tables, request: ClaimRequest
    ) -> Sequence[Taken]:
        return claim(connection, tables, request)

    def complete(
        self, connection: Connection, tables: Tables, batch: CompletionBatch
    ) -> dict[Key, Completed]:
        return complete(connection, tables, batch)


def _begin_ours(connection: Connection) -> None:
    if not connection.get_execution_options().get(WRITES_OPTION):
        return
    # A user's engine may already have begun, by the recipe in SQLAlchemy's documentation.
    if connection.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]  # it is open
        connection.exec_driver_sql("COMMIT")
    _begin_writing(connection)


def _begin_writing(connection: Connection) -> None:
    """Begin as soon as other processes release the lock.

    SQLite itself would wait longer after each try, while other processes lock again and again.
    """
    driver: Any = connection.connection.dbapi_connection
    give_up_at = time.monotonic() + BUSY_TIMEOUT.total_seconds()
    retries = 0
    driver.execute("PRAGMA busy_timeout = 0").close()
    try:
        while (error := _begin(driver)) is not None:
            if "is locked" not in str(error) or time.monotonic() > give_up_at:
                connection.exec_driver_sql("BEGIN IMMEDIATE")  # which raises SQLAlchemy's error
                return
            retries += 1
            time.sleep(_RETRY_DELAY.before(retries))
    finally:
        driver.execute(_busy_timeout()).close()


def _begin(driver: Any) -> sqlite3.Error | None:
    try:
        driver.execute("BEGIN IMMEDIATE").close()
    except sqlite3.Error as error:
        return error
    return None


def _busy_timeout() -> str:
    return f"PRAGMA busy_timeout = {BUSY_TIMEOUT // timedelta(milliseconds=1)}"


def _begin_users(connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
    # A user's session may read first and write later. A deferred transaction would fail if another
    # connection wrote in between. An immediate one would make a mere reader block all writers, even
    # create() on the same thread. So the transaction begins with the first write, and until then
    # the session reads what is committed, as on the other databases.
    if (
        not cursor.connection.in_transaction
        and not READS.match(statement)
        and not commits_by_itself(connection)
    ):
        cursor.execute("BEGIN IMMEDIATE")
