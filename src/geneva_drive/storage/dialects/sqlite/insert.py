"""The insert of a new workflow and its first execution on SQLite."""

from __future__ import annotations

from sqlalchemy import Connection

from geneva_drive.storage.dialects.base import Row, Started
from geneva_drive.storage.dialects.sqlite.statements import SQLiteStatements, places, plain
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables

_VALUES = " ({columns}) VALUES ({places}) ON CONFLICT DO NOTHING RETURNING id"
_WORKFLOW = "INSERT INTO {workflows}" + _VALUES
_EXECUTION = "INSERT INTO {executions}" + _VALUES


def start(
    connection: Connection, tables: Tables, workflow: Row, execution: Row | None
) -> Started | None:
    """Insert both rows inside BEGIN IMMEDIATE; None if an index refuses the workflow."""
    statements = SQLiteStatements(connection, tables)
    key = _insert(statements, _WORKFLOW, tables.given(workflow))
    if key is None or execution is None:
        return None if key is None else (key, None)
    first = tables.given({**execution, "workflow_id": key})
    return key, _insert(statements, _EXECUTION, first)


def _insert(statements: SQLiteStatements, statement: str, row: Row) -> Key | None:
    """Insert a row; None if an index refuses it."""
    values = [plain(value) for value in row.values()]
    found = statements.execute(
        statement, values, columns=", ".join(row), places=places(len(values))
    )
    return row.get("id", found[0][0]) if found else None
