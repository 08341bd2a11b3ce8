"""Starting a workflow: its row and its first execution's, unless an index refuses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Insert, Table, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import TypeEngine

from geneva_drive.storage.dialects import driver
from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.dialects.sqlite.values import plain
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables

Row = Mapping[str, Any]
Started = tuple[Key, Key | None]  # the keys of the workflow and of its first execution

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
# Whoever has nothing to do takes just that one: it need not look for what is due.
_NOTICE = ", pg_notify(%(channel)b::text, %(sender)b::text || ':' || first.id)"


def in_one_statement(
    connection: Connection,
    tables: Tables,
    workflow: Row,
    execution: Row | None,
    notice: Notice | None,
) -> Started | None:
    """Start it on PostgreSQL, and have the notice sent if it was started."""
    first = _given(tables, workflow)
    second = {} if execution is None else _given(tables, execution)
    statement = _statement_for(
        tables, connection.dialect, tuple(first), tuple(second), tells=notice is not None
    )
    values = {f"w_{name}": value for name, value in first.items()}
    values |= {f"e_{name}": value for name, value in second.items()}
    if notice is not None:
        values |= {"channel": notice.channel, "sender": notice.sender}
    found = driver.execute(connection, statement, values)
    return (found[0][0], found[0][1]) if found else None


def _given(tables: Tables, row: Row) -> dict[str, Any]:
    """Give the values of a row, but for those that a column has by itself."""
    [keyed] = tables.keyed([row])
    return {name: value for name, value in keyed.items() if value is not None}


@lru_cache(maxsize=64)
def _statement_for(
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
        workflow_values=_placeholders("w_", tables.workflows, workflow, dialect),
        execution_columns=", ".join(execution),
        execution_values=_placeholders("e_", tables.step_executions, execution, dialect),
        notice=_NOTICE if tells else "",
    )
    # As in the fast commit: other drivers know only %s.
    return written if dialect.driver == "psycopg" else written.replace(")b", ")s")


def _placeholders(prefix: str, table: Table, names: Iterable[str], dialect: Dialect) -> str:
    return ", ".join(f"%({prefix}{name})b::{_kind(table.c[name].type, dialect)}" for name in names)


def _kind(column_type: TypeEngine[Any], dialect: Dialect) -> str:
    # A cast to a text of some length would cut a longer one off; written into it, it is refused.
    kind = str(column_type.compile(dialect))
    return "text" if kind.startswith("VARCHAR") else kind


def on_sqlite(
    connection: Connection, tables: Tables, workflow: Row, execution: Row | None
) -> Started | None:
    """Start it inside BEGIN IMMEDIATE."""
    key = _insert_on_sqlite(connection, tables, tables.workflows, workflow)
    if key is None or execution is None:
        return None if key is None else (key, None)
    first = {**execution, "workflow_id": key}
    return key, _insert_on_sqlite(connection, tables, tables.step_executions, first)


def _insert_on_sqlite(
    connection: Connection, tables: Tables, table: Table, values: Row
) -> Key | None:
    """Insert a row; None if an index refuses it."""
    row = _given(tables, values)
    given = {name: plain(value) for name, value in row.items()}
    columns, places = ", ".join(given), ", ".join("?" * len(given))
    found = driver.execute(
        connection,
        f"INSERT INTO {tables.quoted(table)} ({columns}) VALUES ({places}) "
        f"ON CONFLICT DO NOTHING RETURNING id",
        tuple(given.values()),
    )
    return row.get("id", found[0][0]) if found else None


def without_returning(
    connection: Connection, tables: Tables, workflow: Row, execution: Row | None
) -> Started | None:
    """Start it on MySQL, where a refused statement leaves its transaction as it was."""
    insert_workflow, insert_execution = _plain_inserts_for(tables)
    try:
        key = _insert(connection, tables, insert_workflow, workflow)
    except IntegrityError:
        return None
    if execution is None:
        return key, None
    return key, _insert(connection, tables, insert_execution, {**execution, "workflow_id": key})


@lru_cache(maxsize=8)
def _plain_inserts_for(tables: Tables) -> tuple[Insert, Insert]:
    # Inline: the driver tells the key, and SQLAlchemy takes longer to find it out.
    return insert(tables.workflows).inline(), insert(tables.step_executions).inline()


def _insert(connection: Connection, tables: Tables, statement: Insert, values: Row) -> Key:
    [row] = tables.keyed([values])
    result = connection.execute(statement, row)
    return row.get("id", result.lastrowid)
