"""A check that the database role may read and write every table, as a worker does."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Table, delete, false, insert, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import Executable

from geneva_drive.storage.connections.database import Database
from geneva_drive.storage.dialects.health_check import Check, ok, problem
from geneva_drive.storage.dialects.trouble import Trouble
from geneva_drive.storage.schema.tables import Tables

_NAME = "rights"


def rights(database: Database, tables: Tables) -> Iterator[Check]:
    """Try each kind of statement on each table, with a condition that matches no row."""
    missing = [
        f"{word} on {table.name}"
        for table in tables.metadata.sorted_tables
        for word, statement in _statements(table)
        if not _may(database, statement)
    ]
    if missing:
        yield problem(
            _NAME,
            f"The role lacks {', '.join(missing)}.",
            "GRANT SELECT, INSERT, UPDATE and DELETE on these tables to the role of the URL.",
        )
    else:
        yield ok(_NAME, "The role may read and write every table.")


def _statements(table: Table) -> Iterator[tuple[str, Executable]]:
    key = next(iter(table.primary_key.columns))
    columns = [column for column in table.columns if column.computed is None]
    yield "SELECT", select(key).where(false())
    yield "INSERT", insert(table).from_select(columns, select(*columns).where(false()))
    yield "UPDATE", update(table).where(false()).values({key: key})
    yield "DELETE", delete(table).where(false())


def _may(database: Database, statement: Executable) -> bool:
    """True unless the database refuses the statement because of a missing right."""
    # A transaction per statement: after an error PostgreSQL refuses the rest.
    with database.engine.connect() as connection:
        try:
            connection.execute(statement)
        except DBAPIError as error:
            if database.trouble_of(error) is Trouble.MISSING_RIGHTS:
                return False
            raise
        finally:
            connection.rollback()
    return True
