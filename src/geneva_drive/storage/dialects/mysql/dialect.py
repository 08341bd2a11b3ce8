"""MySQL and MariaDB: READ COMMITTED, no RETURNING on UPDATE, errors by number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    RowMapping,
    Select,
    Table,
    Update,
    event,
    func,
    select,
    text,
    update,
)
from sqlalchemy.engine import Dialect as SQLAlchemyDialect
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.settings import Settings
from geneva_drive.storage.dialects.base import Dialect, MigrationHeld, Started
from geneva_drive.storage.dialects.claim_request import ClaimRequest, Taken
from geneva_drive.storage.dialects.completion_batch import Completed, CompletionBatch
from geneva_drive.storage.dialects.health_check import Look, Thresholds
from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.dialects.mysql import health
from geneva_drive.storage.dialects.mysql.claim import claim, force_index
from geneva_drive.storage.dialects.mysql.complete import complete
from geneva_drive.storage.dialects.mysql.insert import start
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables


class MySQL(Dialect):
    """MySQL 8 and MariaDB from 10.6 on."""

    completes_fast = True
    has_partial_indexes = False
    own_driver = "pymysql"
    quote = "`"

    def server_name(self, dialect: SQLAlchemyDialect) -> str:
        # The URL may say mysql although the server is MariaDB.
        return "mariadb" if getattr(dialect, "is_mariadb", False) else dialect.name

    def migration_lock(self, engine: Engine, patience: timedelta) -> AbstractContextManager[None]:
        return _migration_lock(engine, patience)

    def looks(self, tables: Tables, thresholds: Thresholds) -> Iterable[tuple[str, Look]]:  # noqa: ARG002 - PostgreSQL's
        return health.looks(thresholds)

    def execute_many(self, cursor: Any, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        cursor.connection.begin()
        cursor.executemany(statement, rows)
        cursor.connection.commit()

    def by_index(self, query: Select[Any], table: Table, index: str) -> Select[Any]:
        # MySQL would prefer to read the whole history, in the order of the claim index.
        return force_index(query, table, index)

    def without_match(
        self, query: Select[Any], table: Table, is_match: ColumnElement[bool]
    ) -> Select[Any]:
        # For EXISTS, MariaDB runs a subquery for each row, or copies the subquery's table.
        unmatched = [column.is_(None) for column in table.primary_key]
        return query.outerjoin(table, is_match).where(*unmatched)

    def by_key(self, statement: Update) -> Update:
        # MySQL locks every index row that it scans, and waits for locked ones. By the index on the
        # claim token it would wait for all executions that a frozen worker had claimed together.
        for name in ("mysql", "mariadb"):
            statement = statement.with_hint("FORCE INDEX (PRIMARY)", dialect_name=name)
        return statement

    def prepare(self, engine: Engine, settings: Settings) -> None:  # noqa: ARG002 - as in Dialect
        # Several Drives may share a user's engine.
        if not event.contains(engine, "checkout", _read_committed):
            event.listen(engine, "checkout", _read_committed)

    def now(self) -> ColumnElement[datetime]:
        return func.utc_timestamp(text("6"))

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
        self, connection: Connection, tables: Tables, batch: CompletionBatch
    ) -> dict[Key, Completed]:
        return complete(connection, tables, batch)


# On checkout, not on connect: a user's engine may already have open connections.
def _read_committed(dbapi_connection: Any, record: Any, proxy: Any) -> None:  # noqa: ARG001 - SQLAlchemy's signature
    if record.info.get("geneva_prepared"):
        return
    # REPEATABLE READ locks gaps between rows, and would make workers wait for each other.
    with dbapi_connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    record.info["geneva_prepared"] = True


# Names of locks are shared by all databases of a server, and are at most 64 characters long.
_LOCK_NAME = "CONCAT('geneva_drive_', SHA1(DATABASE()))"


@contextmanager
def _migration_lock(engine: Engine, patience: timedelta) -> Iterator[None]:
    with engine.connect() as holder:
        lock = text(f"SELECT GET_LOCK({_LOCK_NAME}, :seconds)")
        if holder.scalar(lock, {"seconds": patience.total_seconds()}) != 1:
            raise MigrationHeld
        try:
            yield
        finally:
            holder.execute(text(f"SELECT RELEASE_LOCK({_LOCK_NAME})"))
