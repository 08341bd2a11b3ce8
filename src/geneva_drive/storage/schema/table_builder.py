"""Builds tables that have the same constraints on every database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Computed,
    ForeignKey,
    Index,
    MetaData,
    SmallInteger,
    Table,
    text,
)
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.storage.schema.column_types import big_integer_key, uuid_key
from geneva_drive.storage.schema.keys import KeyType, new_uuid


class TableBuilder:
    """Builds the tables of one Drive, under its prefix and with its type of key.

    MySQL has no partial indexes. There a generated column is NULL in the rows that the index should
    not contain.
    """

    def __init__(self, *, prefix: str, key_type: KeyType, has_partial_indexes: bool) -> None:
        self.prefix = prefix
        self.key_type = key_type
        self.has_partial_indexes = has_partial_indexes
        self.metadata = MetaData()

    def quoted(self, table: Table) -> str:
        """Return a table's quoted name for PostgreSQL or SQLite: a prefix may have capitals."""
        return f'"{table.name}"'

    def keyed(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return rows to insert, with keys if clients make the keys."""
        if self.key_type is KeyType.UUID:
            return [{"id": new_uuid(), **row} for row in rows]
        return [dict(row) for row in rows]

    def given(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row to insert, like `keyed`, without NULLs, which the columns default to."""
        values = {name: value for name, value in row.items() if value is not None}
        return {"id": new_uuid(), **values} if self.key_type is KeyType.UUID else values

    def table(self, name: str, *items: SchemaItem, **options: Any) -> Table:
        return Table(
            self.prefix + name,
            self.metadata,
            *items,
            **options,
            mysql_engine="InnoDB",
            mysql_charset="utf8mb4",
            mariadb_engine="InnoDB",
            mariadb_charset="utf8mb4",
        )

    def key(self) -> Column[Any]:
        if self.key_type is KeyType.UUID:
            return Column("id", uuid_key(), primary_key=True)
        return Column("id", big_integer_key(), primary_key=True, autoincrement=True)

    def key_kind(self) -> Any:
        """Return the type of a column that holds a key."""
        return uuid_key() if self.key_type is KeyType.UUID else big_integer_key()

    def workflow_reference(self, *, nullable: bool = False, **options: Any) -> Column[Any]:
        target = ForeignKey(
            f"{self.prefix}workflows.id",
            ondelete="CASCADE",
        )
        return Column("workflow_id", self.key_kind(), target, nullable=nullable, **options)

    def check_in(
        self, table: str, column: str, values: Iterable[str], *, label: str | None = None
    ) -> CheckConstraint:
        """Return the check that a column has one of these values.

        `label` replaces the column in the name of the check: PostgreSQL allows 63 characters.
        """
        listed = ", ".join(f"'{value}'" for value in sorted(values))
        return CheckConstraint(
            f"{column} IN ({listed})", name=f"{self.prefix}{table}_{label or column}_known"
        )

    def unique_where(self, name: str, *columns: str, marker: str, where: str) -> list[SchemaItem]:
        """Return the index that makes columns unique among the rows for which `where` holds.

        On MySQL, also the generated column that it needs.
        """
        full_name = f"{self.prefix}{name}"
        if self.has_partial_indexes:
            condition = text(where)
            return [
                Index(
                    full_name,
                    *columns,
                    unique=True,
                    postgresql_where=condition,
                    sqlite_where=condition,
                )
            ]
        holds = f"CASE WHEN {where} THEN 1 END"
        marked: Column[int] = Column(marker, SmallInteger, Computed(holds, persisted=True))
        # Descending, so that a marked row comes before its unmarked predecessors: an insert that
        # replaces a marked row locks the next index entry, which must not be another workflow's.
        return [marked, Index(full_name, *columns, marked.desc(), unique=True)]

    def index_where(self, name: str, *columns: Any, where: ColumnElement[bool]) -> Index:
        """Index the rows for which `where` holds; MySQL indexes all rows."""
        full_name = f"{self.prefix}{name}"
        if not self.has_partial_indexes:
            return Index(full_name, *columns)
        # An expression, not text: SQLite uses the index only for exactly the same condition, and
        # SQLAlchemy then renders both.
        return Index(full_name, *columns, postgresql_where=where, sqlite_where=where)
