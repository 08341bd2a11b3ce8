"""MySQL and MariaDB: READ COMMITTED, no RETURNING on UPDATE, errors by number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    RowMapping,
    Select,
    Table,
    event,
    func,
    select,
    text,
    update,
)
from sqlalchemy.engine import Dialect as SQLAlchemyDialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.settings import Settings
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.dialects.claim_request import ClaimRequest, Taken
from geneva_drive.storage.dialects.completion_batch import Batch, Completed
from geneva_drive.storage.dialects.finding import Look, Thresholds
from geneva_drive.storage.dialects.first_rows import Started
from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.dialects.mysql import health, migration_lock
from geneva_drive.storage.dialects.mysql.claim import claim, force_index
from geneva_drive.storage.dialects.mysql.complete import complete
from geneva_drive.storage.dialects.mysql.insert import start
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables

_TRY_AGAIN = {1213, 1205, 1020}  # deadlock, lock wait timeout, record changed since last read
# Out of range, truncated, wrong, incorrect, too long, a trigger's SIGNAL, CHECK on each server.
_ABOUT_VALUES = {1264, 1265, 1292, 1366, 1406, 1644, 3819, 4025}
_READ_ONLY = {1290, 1792, 1836}
_LOCK_WAIT_TIMEOUT = 1205
_LOST = {2002, 2003, 2006, 2013, 1053, 1927}  # cannot connect, gone away, lost, shutdown, killed
_TURNED_AWAY = {1040, 1044, 1045, 1049, 1130, 1698}  # too many, no access, no database, wrong host


class MySQL(Dialect):
    """MySQL 8 and MariaDB from 10.6 on."""

    completes_fast = True
    has_partial_indexes = False
    own_driver = "pymysql"
    quote = "`"

    def server_name(self, dialect: SQLAlchemyDialect) -> str:
        # The URL may say mysql where a MariaDB answers.
        return "mariadb" if getattr(dialect, "is_mariadb", False) else dialect.name

    def migration_lock(self, engine: Engine, patience: timedelta) -> AbstractContextManager[None]:
        return migration_lock.hold(engine, patience)

    def looks(self, tables: Tables, thresholds: Thresholds) -> Iterable[tuple[str, Look]]:  # noqa: ARG002 - PostgreSQL's
        return health.looks(thresholds)

    def execute_many(self, cursor: Any, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        cursor.connection.begin()
        cursor.executemany(statement, rows)
        cursor.connection.commit()

    def by_index(self, query: Select[Any], table: Table, index: str) -> Select[Any]:
        # MySQL would rather read all of history, in the order of the claim index.
        return force_index(query, table, index)

    def prepare(self, engine: Engine, settings: Settings) -> None:  # noqa: ARG002 - as in Dialect
        # Several Drives may share a user's engine.
        if not event.contains(engine, "checkout", _read_committed):
            event.listen(engine, "checkout", _read_committed)

    def now(self) -> ColumnElement[datetime]:
        return func.utc_timestamp(text("6"))

    def is_transient(self, error: DBAPIError) -> bool:
        return super().is_transient(error) or _number(error) in _TRY_AGAIN | _LOST

    def blames_value(self, error: DBAPIError) -> bool:
        return super().blames_value(error) or _number(error) in _ABOUT_VALUES

    def is_read_only(self, error: DBAPIError) -> bool:
        return _number(error) in _READ_ONLY

    def is_busy(self, error: DBAPIError) -> bool:
        return _number(error) == _LOCK_WAIT_TIMEOUT

    def is_unreachable(self, error: DBAPIError) -> bool:
        return error.connection_invalidated or _number(error) in _LOST | _TURNED_AWAY

    def take(
        self, connection: Connection, table: Table, due: Select[Any], values: dict[str, Any]
    ) -> Sequence[RowMapping]:
        ids = connection.scalars(self.lock(due, skip_locked=True)).all()
        if not ids:
            return []
        connection.execute(update(table).where(table.c.id.in_(ids)).values(**values))
        rows = connection.execute(select(table).where(table.c.id.in_(ids)))
        return rows.mappings().all()

    def claim(
        self, connection: Connection, tables: Tables, request: ClaimRequest
    ) -> Sequence[Taken]:
        return claim(connection, tables, request, lambda query: self.lock(query, skip_locked=True))

    def start(
        self,
        connection: Connection,
        tables: Tables,
        workflow: Mapping[str, Any],
        execution: Mapping[str, Any] | None,
        notice: Notice | None,  # noqa: ARG002 - sent on PostgreSQL
    ) -> Started | None:
        return start(connection, tables, workflow, execution)

    def complete(
        self, connection: Connection, tables: Tables, batch: Batch
    ) -> dict[Key, Completed]:
        return complete(connection, tables, batch)


# On checkout, not on connect: a user's engine may have connected before.
def _read_committed(dbapi_connection: Any, record: Any, proxy: Any) -> None:  # noqa: ARG001 - SQLAlchemy's signature
    if record.info.get("geneva_prepared"):
        return
    # REPEATABLE READ locks gaps between rows, and would make workers wait for one another.
    with dbapi_connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    record.info["geneva_prepared"] = True


def _number(error: DBAPIError) -> int | None:
    arguments = getattr(error.orig, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None
