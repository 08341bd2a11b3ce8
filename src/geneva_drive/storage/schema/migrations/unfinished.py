"""Removes the tables of an unfinished first migration: MySQL commits each table separately."""

from __future__ import annotations

from sqlalchemy import Connection, Table, inspect, literal, select

from geneva_drive.errors import StorageError
from geneva_drive.storage.schema import revisions
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.tables import Tables


class TableTaken(StorageError):
    def __init__(self, url: str, table: str) -> None:
        self.table = table
        super().__init__(
            f"The database at {url} has a table {table!r} that GenevaDrive did not make. "
            f"Choose another table_prefix, or rename that table."
        )


class RevisionLost(StorageError):
    def __init__(self, url: str, table: str, version_table: str) -> None:
        self.table = table
        super().__init__(
            f"The database at {url} has rows in {table!r}, but {version_table!r} has no revision. "
            f"Restore its row from a backup, or drop GenevaDrive's tables if you do not need the "
            f"rows, and run `geneva migrate` again."
        )


def clear(connection: Connection, prefix: str, url: str, *, has_partial_indexes: bool) -> None:
    """Drop the empty tables of a first migration that did not end.

    The caller holds the migration lock, and the database has no revision. A migration creates the
    version table first: without it, tables with our names belong to another program.
    """
    version_table = revisions.version_table(prefix)
    present = _present(
        connection,
        Tables(prefix=prefix, key_type=KeyType.BIGINT, has_partial_indexes=has_partial_indexes),
    )
    if not inspect(connection).has_table(version_table):
        for table in present:
            raise TableTaken(url, table.name)
    for table in present:
        if connection.scalar(select(literal(1)).select_from(table).limit(1)):
            raise RevisionLost(url, table.name, version_table)
    for table in present:
        table.drop(connection)


def _present(connection: Connection, tables: Tables) -> list[Table]:
    names = set(inspect(connection).get_table_names())
    return [table for table in reversed(tables.metadata.sorted_tables) if table.name in names]
