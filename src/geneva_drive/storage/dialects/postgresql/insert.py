"""Inserts in one statement on PostgreSQL: a workflow and its first execution, or many rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine

from geneva_drive.storage.dialects import driver
from geneva_drive.storage.dialects.base import Row, Started
from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.schema.tables import Tables

_BY_COLUMNS = "INSERT INTO {table} ({columns}) SELECT * FROM unnest({lists})"
_IN_ONE = """
WITH started AS (
    INSERT INTO {workflows} ({workflow_columns}) VALUES ({workflow_values})
    ON CONFLICT DO NOTHING RETURNING id
), first AS (
    INSERT INTO {executions} ({execution_columns}, workflow_id)
    SELECT {execution_values}, started.id FROM started RETURNING id
)
SELECT started.id, first.id{notice} FROM started, first
"""
_ALONE = """
INSERT INTO {workflows} ({workflow_columns}) VALUES ({workflow_values})
ON CONFLICT DO NOTHING RETURNING id, NULL
"""
# The notice names the execution, so that an idle worker claims it without a search.
_NOTICE = ", pg_notify(%(channel)b::text, %(sender)b::text || ':' || first.id)"


def start(
    connection: Connection,
    tables: Tables,
    workflow: Row,
    execution: Row | None,
    notice: Notice | None,
) -> Started | None:
    """Insert both rows and send the notice; None if an index refuses the workflow."""
    first = tables.given(workflow)
    second = {} if execution is None else tables.given(execution)
    statement = _start_statement_for(
        tables, connection.dialect, tuple(first), tuple(second), tells=notice is not None
    )
    values = {f"w_{name}": value for name, value in first.items()}
    values |= {f"e_{name}": value for name, value in second.items()}
    if notice is not None:
        values |= {"channel": notice.channel, "sender": notice.sender}
    found = driver.execute(connection, statement, values)
    return (found[0][0], found[0][1]) if found else None


@lru_cache(maxsize=64)
def _start_statement_for(
    tables: Tables,
    dialect: Dialect,
    workflow: tuple[str, ...],
    execution: tuple[str, ...],
    *,
    tells: bool,
) -> str:
    template = _IN_ONE if execution else _ALONE
    written = template.format(
        workflows=tables.quoted(tables.workflows),
        executions=tables.quoted(tables.step_executions),
        workflow_columns=", ".join(workflow),
        workflow_values=placeholders("w_", tables.workflows, workflow, dialect),
        execution_columns=", ".join(execution),
        execution_values=placeholders("e_", tables.step_executions, execution, dialect),
        notice=_NOTICE if tells else "",
    )
    # psycopg sends values marked `b` in binary; other drivers have only %s.
    return written if dialect.driver == "psycopg" else written.replace(")b", ")s")


def placeholders(prefix: str, table: Table, names: Iterable[str], dialect: Dialect) -> str:
    return ", ".join(f"%({prefix}{name})b::{_kind(table.c[name].type, dialect)}" for name in names)


def _kind(column_type: TypeEngine[Any], dialect: Dialect) -> str:
    # A cast to VARCHAR(n) would truncate a longer text; without it, the column refuses the text.
    kind = str(column_type.compile(dialect))
    return "text" if kind.startswith("VARCHAR") else kind


def insert_columns(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = tuple(rows[0])
    statement = _columns_statement_for(table, columns, connection.dialect)
    values = {name: _plain([row[name] for row in rows]) for name in columns}
    connection.exec_driver_sql(statement, values)


@lru_cache(maxsize=64)
def _columns_statement_for(table: Table, columns: tuple[str, ...], dialect: Dialect) -> str:
    quote = dialect.identifier_preparer.quote
    return _BY_COLUMNS.format(
        table=dialect.identifier_preparer.format_table(table),
        columns=", ".join(map(quote, columns)),
        lists=", ".join(f"%({name})b::{_kind(table.c[name].type, dialect)}[]" for name in columns),
    )


def _plain(values: list[Any]) -> list[Any]:
    """Return the values of a column, with members of enumerations replaced by their values."""
    if not any(issubclass(kind, Enum) for kind in set(map(type, values))):
        return values
    return [value.value if isinstance(value, Enum) else value for value in values]
