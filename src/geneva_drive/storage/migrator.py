"""Creating and upgrading the tables; loads Alembic, so it is imported only for that."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from geneva_drive.errors import StorageError, TooNew
from geneva_drive.storage.connections.database import Database
from geneva_drive.storage.schema import keys, revisions
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.migrations import unfinished
from geneva_drive.storage.store import read_revision, read_tables

_LOCK_NUMBER = 7_046_029_254_386_353  # any number that nobody else uses
# The name is the server's, not the database's, and 64 characters long at most.
_LOCK_NAME = "CONCAT('geneva_drive_', SHA1(DATABASE()))"
LOCK_TIMEOUT = timedelta(seconds=60)

# Alembic keeps what it works on in module globals: one migration at a time in a process.
_ALEMBIC = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the migration scripts have to know."""

    connection: Connection | None
    dialect_name: str
    driver: str
    prefix: str
    key_type: KeyType
    version_table: str


class MigrationLocked(StorageError):
    def __init__(self, url: str) -> None:
        super().__init__(
            f"Another process has been migrating {url} for more than {LOCK_TIMEOUT.seconds} "
            f"seconds. "
            f"Wait for it, or end it, and run `geneva migrate` again."
        )


def migrate(database: Database, prefix: str) -> tuple[str | None, str]:
    """Bring the tables to the newest revision; give the former and the present one."""
    with (
        database.translating(),
        _migration_lock(database),
        database.transaction() as connection,
    ):
        before = read_revision(connection, prefix)
        if before is not None and before not in revisions.REVISIONS:
            raise TooNew(database.url, before)
        if before is None:
            unfinished.clear(connection, prefix, database.url)
        if before != revisions.HEAD:
            plan = _plan(connection, prefix, before)
            with _ALEMBIC:
                command.upgrade(_config(plan, io.StringIO()), "head")
        return before, revisions.HEAD


def migration_sql(database: Database, prefix: str) -> str:
    """Write out what `migrate` would do, without doing it."""
    with database.reading() as connection:
        before = read_revision(connection, prefix)
        key_type = _key_type(connection, prefix, before)
        # The address may say mysql, and a MariaDB be there.
        is_mariadb = getattr(connection.dialect, "is_mariadb", False)
        dialect_name = "mariadb" if is_mariadb else connection.dialect.name
        driver = connection.dialect.driver
    plan = Plan(
        connection=None,
        dialect_name=dialect_name,
        driver=driver,
        prefix=prefix,
        key_type=key_type,
        version_table=revisions.version_table(prefix),
    )
    written = io.StringIO()
    if before != revisions.HEAD:
        with _ALEMBIC:
            command.upgrade(_config(plan, written), f"{before or 'base'}:head", sql=True)
    return written.getvalue()


def _plan(connection: Connection, prefix: str, before: str | None) -> Plan:
    return Plan(
        connection=connection,
        dialect_name=connection.dialect.name,
        driver=connection.dialect.driver,
        prefix=prefix,
        key_type=_key_type(connection, prefix, before),
        version_table=revisions.version_table(prefix),
    )


def _key_type(connection: Connection, prefix: str, before: str | None) -> KeyType:
    if before is None:
        return keys.detect(connection, prefix)
    return read_tables(connection, prefix).key_type


def _config(plan: Plan, output: io.StringIO) -> Config:
    config = Config(output_buffer=output, stdout=output)
    scripts = str(Path(__file__).parent / "schema" / "migrations")
    config.set_main_option("script_location", scripts.replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["plan"] = plan
    return config


@contextmanager
def _migration_lock(database: Database) -> Iterator[None]:
    """Keep two processes from migrating at once; SQLite's transaction does so by itself.

    A connection of its own holds the lock until the migration is committed: let go before that,
    the next one would find tables, and no revision.
    """
    match database.engine.dialect.name:
        case "postgresql":
            with database.engine.connect() as holder:
                _lock_postgresql(holder, database)
                yield
        case "mysql" | "mariadb":
            with database.engine.connect() as holder:
                _lock_mysql(holder, database)
                try:
                    yield
                finally:
                    holder.execute(text(f"SELECT RELEASE_LOCK({_LOCK_NAME})"))
        case _:
            yield


def _lock_postgresql(holder: Connection, database: Database) -> None:
    milliseconds = LOCK_TIMEOUT // timedelta(milliseconds=1)
    holder.execute(text(f"SET LOCAL lock_timeout = {milliseconds}"))
    try:
        holder.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _LOCK_NUMBER})
    except DBAPIError as error:
        if database.dialect.is_busy(error):
            raise MigrationLocked(database.url) from error
        raise


def _lock_mysql(holder: Connection, database: Database) -> None:
    lock = text(f"SELECT GET_LOCK({_LOCK_NAME}, :seconds)")
    if holder.scalar(lock, {"seconds": LOCK_TIMEOUT.total_seconds()}) != 1:
        raise MigrationLocked(database.url)
