"""Starting a workflow: its row and its first execution's, unless an index refuses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Insert, Table, TextClause, bindparam, insert, text
from sqlalchemy.exc import IntegrityError

from geneva_drive.storage.records import Key
from geneva_drive.storage.tables import Tables

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
SELECT started.id, first.id FROM started, first
"""
_ALONE = """
INSERT INTO {workflows} ({workflow_columns}) VALUES ({workflow_values})
ON CONFLICT DO NOTHING RETURNING id, NULL
"""


def in_one_statement(
    connection: Connection, tables: Tables, workflow: Row, execution: Row | None
) -> Started | None:
    """Start it on PostgreSQL."""
    [workflow_row] = tables.keyed([workflow])
    execution_row = tables.keyed([execution])[0] if execution else {}
    statement = _statement_for(
        tables, connection.dialect, tuple(workflow_row), tuple(execution_row)
    )
    values = {f"w_{name}": value for name, value in workflow_row.items()}
    values |= {f"e_{name}": value for name, value in execution_row.items()}
    found = connection.execute(statement, values).first()
    return None if found is None else (found[0], found[1])


@lru_cache(maxsize=32)
def _statement_for(
    tables: Tables,
    dialect: Dialect,
    workflow_columns: tuple[str, ...],
    execution_columns: tuple[str, ...],
) -> TextClause:
    template = _IN_ONE if execution_columns else _ALONE
    written = template.format(
        workflows=tables.quoted(tables.workflows),
        executions=tables.quoted(tables.step_executions),
        workflow_columns=", ".join(workflow_columns),
        workflow_values=", ".join(f":w_{name}" for name in workflow_columns),
        execution_columns=", ".join(execution_columns),
        execution_values=", ".join(
            _cast(tables.step_executions, name, dialect) for name in execution_columns
        ),
    )
    return text(written).bindparams(
        *_typed("w_", tables.workflows, workflow_columns),
        *_typed("e_", tables.step_executions, execution_columns),
    )


def _cast(table: Table, name: str, dialect: Dialect) -> str:
    # In a SELECT the server does not know what a parameter is for.
    return f"CAST(:e_{name} AS {table.c[name].type.compile(dialect)})"


def _typed(prefix: str, table: Table, columns: Iterable[str]) -> list[Any]:
    return [bindparam(f"{prefix}{name}", type_=table.c[name].type) for name in columns]


def on_sqlite(
    connection: Connection, tables: Tables, workflow: Row, execution: Row | None
) -> Started | None:
    """Start it inside BEGIN IMMEDIATE."""
    statements = _inserts_for(tables)
    [row] = tables.keyed([workflow])
    key = connection.scalar(statements.workflow, row)
    if key is None or execution is None:
        return None if key is None else (key, None)
    [first] = tables.keyed([{**execution, "workflow_id": key}])
    return key, connection.scalar(statements.execution, first)


class _Inserts:
    def __init__(self, tables: Tables) -> None:
        # Loaded only where it is used; the engine has loaded it by then.
        from sqlalchemy.dialects import sqlite

        self.workflow: Any = (
            sqlite.insert(tables.workflows)
            .on_conflict_do_nothing()
            .returning(tables.workflows.c.id)
        )
        self.execution: Any = insert(tables.step_executions).returning(tables.step_executions.c.id)


@lru_cache(maxsize=8)
def _inserts_for(tables: Tables) -> _Inserts:
    return _Inserts(tables)


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
