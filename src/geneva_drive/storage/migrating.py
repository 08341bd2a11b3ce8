"""Creating and upgrading the tables; loads Alembic, so it is imported only for that."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from geneva_drive.errors import StorageError, TooNew
from geneva_drive.storage import keys, revisions
from geneva_drive.storage.database import Database
from geneva_drive.storage.keys import KeyType
from geneva_drive.storage.store import read_revision, read_tables

_LOCK_NUMBER = 7_046_029_254_386_353  # any number that nobody else uses
_LOCK_NAME = "geneva_drive_migration"
_LOCK_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the migration scripts have to know."""

    connection: Connection | None
    dialect_name: str
    prefix: str
    key_type: KeyType
    version_table: str


class MigrationLocked(StorageError):
    def __init__(self, url: str) -> None:
        super().__init__(
            f"Another process has been migrating {url} for more than {_LOCK_SECONDS} seconds. "
            f"Wait for it, or end it, and run `geneva migrate` again."
        )


def migrate(database: Database, prefix: str) -> tuple[str | None, str]:
    """Bring the tables to the newest revision; give the former and the present one."""
    with (
        database.translating(),
        database.transaction() as connection,
        _migration_lock(connection, database.url),
    ):
        before = read_revision(connection, prefix)
        if before is not None and before not in revisions.REVISIONS:
            raise TooNew(database.url, before)
        if before != revisions.HEAD:
            plan = _plan(connection, connection.dialect.name, prefix, before)
            command.upgrade(_config(plan, io.StringIO()), "head")
        return before, revisions.HEAD


def migration_sql(database: Database, prefix: str) -> str:
    """Write out what `migrate` would do, without doing it."""
    with database.reading() as connection:
        before = read_revision(connection, prefix)
        key_type = _key_type(connection, prefix, before)
        dialect_name = connection.dialect.name
    plan = Plan(
        connection=None,
        dialect_name=dialect_name,
        prefix=prefix,
        key_type=key_type,
        version_table=revisions.version_table(prefix),
    )
    written = io.StringIO()
    if before != revisions.HEAD:
        command.upgrade(_config(plan, written), f"{before or 'base'}:head", sql=True)
    return written.getvalue()


def _plan(connection: Connection, dialect_name: str, prefix: str, before: str | None) -> Plan:
    return Plan(
        connection=connection,
        dialect_name=dialect_name,
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
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["plan"] = plan
    return config


@contextmanager
def _migration_lock(connection: Connection, url: str) -> Iterator[None]:
    """Keep two processes from migrating at once; SQLite's transaction does so by itself."""
    match connection.dialect.name:
        case "postgresql":
            connection.execute(text(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _LOCK_NUMBER})
            yield
        case "mysql" | "mariadb":
            # DDL commits here, so that no transaction could hold the lock for us.
            lock = {"name": _LOCK_NAME, "seconds": _LOCK_SECONDS}
            if connection.scalar(text("SELECT GET_LOCK(:name, :seconds)"), lock) != 1:
                raise MigrationLocked(url)
            try:
                yield
            finally:
                connection.execute(text("SELECT RELEASE_LOCK(:name)"), {"name": _LOCK_NAME})
        case _:
            yield
