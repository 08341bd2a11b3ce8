"""Helpers for migrations that add tables, columns and indexes, each only if it is missing."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import big_integer_key, uuid_key

_ALIKE: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
}


class Additions:
    """Adds only what is missing: MySQL commits each statement, and an earlier try may have died."""

    def __init__(self) -> None:
        context = op.get_context()
        plan = context.config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
        self.is_mysql = context.dialect.name in ("mysql", "mariadb")
        self.key = uuid_key() if plan.key_type == "uuid" else big_integer_key()
        self._uuid = plan.key_type == "uuid"
        self._prefix = plan.prefix
        self._inspector = None if plan.connection is None else sa.inspect(plan.connection)

    def id(self) -> sa.Column[Any]:
        if self._uuid:
            return sa.Column("id", uuid_key(), primary_key=True)
        return sa.Column("id", big_integer_key(), primary_key=True, autoincrement=True)

    def reference(
        self, table: str, column: str, *, nullable: bool = False, **options: Any
    ) -> sa.Column[Any]:
        target = sa.ForeignKey(f"{self._prefix}{table}.id", ondelete="CASCADE")
        return sa.Column(column, self.key, target, nullable=nullable, **options)

    def check_in(
        self, table: str, column: str, values: tuple[str, ...], *, label: str | None = None
    ) -> sa.CheckConstraint:
        listed = ", ".join(f"'{value}'" for value in values)
        name = f"{self._prefix}{table}_{label or column}_known"
        return sa.CheckConstraint(f"{column} IN ({listed})", name=name)

    def unique(self, table: str, name: str, *columns: str) -> sa.UniqueConstraint:
        return sa.UniqueConstraint(*columns, name=f"{self._prefix}{table}_{name}")

    def create(self, table: str, *items: Any, **options: Any) -> None:
        name = f"{self._prefix}{table}"
        if self._inspector is None or not self._inspector.has_table(name):
            op.create_table(name, *items, **options, **_ALIKE)

    def add_columns(self, table: str, *columns: sa.Column[Any]) -> None:
        name = f"{self._prefix}{table}"
        present: set[str] = set()
        if self._inspector is not None:
            self._inspector.clear_cache()
            present = {one["name"] for one in self._inspector.get_columns(name)}
        for column in columns:
            if column.name not in present:
                op.add_column(name, column)

    def index(
        self, table: str, name: str, columns: list[str], where: Any = None, *, unique: bool = False
    ) -> None:
        """Index the rows for which `where` holds; MySQL indexes all rows."""
        full_table, full_name = f"{self._prefix}{table}", f"{self._prefix}{table}_{name}"
        if self._inspector is not None:
            # The table may have changed since the inspector read it.
            self._inspector.clear_cache()
            if full_name in {one["name"] for one in self._inspector.get_indexes(full_table)}:
                return
        op.create_index(
            full_name,
            full_table,
            columns,
            unique=unique,
            postgresql_where=where,
            sqlite_where=where,
        )
