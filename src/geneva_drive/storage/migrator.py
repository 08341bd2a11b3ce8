"""Migrations: creates and upgrades the tables. Import it only for that, as it loads Alembic."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from geneva_drive.errors import StorageError, TooNew
from geneva_drive.storage.connections.database import Database
from geneva_drive.storage.dialects.base import MigrationHeld
from geneva_drive.storage.schema import keys, revisions
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.migrations import unfinished
from geneva_drive.storage.store import read_revision, read_tables

LOCK_TIMEOUT = timedelta(seconds=60)

# Alembic keeps its state in module globals, so a process can run only one migration at a time.
_ALEMBIC = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of the migration scripts."""

    connection: Connection | None
    dialect_name: str
    driver: str
    prefix: str
    key_type: KeyType
    version_table: str
    transactional_ddl: bool | None  # None leaves it to Alembic


class MigrationLocked(StorageError):
    def __init__(self, url: str) -> None:
        super().__init__(
            f"Another process has been migrating {url} for more than {LOCK_TIMEOUT.seconds} "
            f"seconds. "
            f"Wait for it, or end it, and run `geneva migrate` again."
        )


def migrate(database: Database, prefix: str) -> tuple[str | None, str]:
    """Upgrade the tables to the newest revision; return the former and the current revision."""
    with (
        database.translating(),
        _lock(database),
        database.transaction() as connection,
    ):
        before = read_revision(connection, prefix)
        if before is not None and before not in revisions.REVISIONS:
            raise TooNew(database.url, before)
        if before is None:
            has_partial_indexes = database.dialect.has_partial_indexes
            unfinished.clear(
                connection, prefix, database.url, has_partial_indexes=has_partial_indexes
            )
        if before != revisions.HEAD:
            plan = _plan(database, connection, prefix, before)
            with _ALEMBIC:
                command.upgrade(_config(plan, io.StringIO()), "head")
        return before, revisions.HEAD


def migration_sql(database: Database, prefix: str) -> str:
    """Return the SQL that `migrate` would execute."""
    with database.reading() as connection:
        before = read_revision(connection, prefix)
        dialect_name = database.dialect.server_name(connection.dialect)
        plan = _plan(database, connection, prefix, before)
    plan = replace(plan, connection=None, dialect_name=dialect_name)
    written = io.StringIO()
    if before != revisions.HEAD:
        with _ALEMBIC:
            command.upgrade(_config(plan, written), f"{before or 'base'}:head", sql=True)
    return written.getvalue()


def _plan(database: Database, connection: Connection, prefix: str, before: str | None) -> Plan:
    if before is None:
        key_type = keys.detect(connection, prefix)
    else:
        key_type = read_tables(connection, prefix, database.dialect).key_type
    return Plan(
        connection=connection,
        dialect_name=connection.dialect.name,
        driver=connection.dialect.driver,
        prefix=prefix,
        key_type=key_type,
        version_table=revisions.version_table(prefix),
        transactional_ddl=database.dialect.transactional_ddl,
    )


def _config(plan: Plan, output: io.StringIO) -> Config:
    config = Config(output_buffer=output, stdout=output)
    scripts = str(Path(__file__).parent / "schema" / "migrations")
    config.set_main_option("script_location", scripts.replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["plan"] = plan
    return config


@contextmanager
def _lock(database: Database) -> Iterator[None]:
    """Keep two processes from migrating concurrently."""
    try:
        with database.dialect.migration_lock(database.engine, LOCK_TIMEOUT):
            yield
    except MigrationHeld as error:
        raise MigrationLocked(database.url) from error
