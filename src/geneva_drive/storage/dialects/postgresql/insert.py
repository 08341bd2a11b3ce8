"""Inserting many rows on PostgreSQL: one statement, whose values come column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.engine import Dialect

_STATEMENT = "INSERT INTO {table} ({columns}) SELECT * FROM unnest({lists})"


def insert_columns(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = tuple(rows[0])
    statement = _statement_for(table, columns, connection.dialect)
    values = {name: [_plain(row[name]) for row in rows] for name in columns}
    connection.exec_driver_sql(statement, values)


@lru_cache(maxsize=64)
def _statement_for(table: Table, columns: tuple[str, ...], dialect: Dialect) -> str:
    quote = dialect.identifier_preparer.quote
    return _STATEMENT.format(
        table=dialect.identifier_preparer.format_table(table),
        columns=", ".join(map(quote, columns)),
        lists=", ".join(f"%({name})b::{_kind(table, name, dialect)}[]" for name in columns),
    )


def _kind(table: Table, name: str, dialect: Dialect) -> str:
    kind = table.c[name].type.compile(dialect)
    # To make it a VARCHAR would cut what is too long; put into the column, it is refused.
    return "TEXT" if kind.startswith("VARCHAR") else kind


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
