"""The insert of a new workflow and its first execution on SQLite."""

from __future__ import annotations

from sqlalchemy import Connection, Table

from geneva_drive.storage.dialects import driver
from geneva_drive.storage.dialects.base import Row, Started, given
from geneva_drive.storage.dialects.sqlite.statements import plain
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables


def start(
    connection: Connection, tables: Tables, workflow: Row, execution: Row | None
) -> Started | None:
    """Insert both rows inside BEGIN IMMEDIATE; None if an index refuses the workflow."""
    key = _insert(connection, tables, tables.workflows, workflow)
    if key is None or execution is None:
        return None if key is None else (key, None)
    first = {**execution, "workflow_id": key}
    return key, _insert(connection, tables, tables.step_executions, first)


def _insert(connection: Connection, tables: Tables, table: Table, values: Row) -> Key | None:
    """Insert a row; None if an index refuses it."""
    row = given(tables, values)
    values_of = {name: plain(value) for name, value in row.items()}
    columns, places = ", ".join(values_of), ", ".join("?" * len(values_of))
    found = driver.execute(
        connection,
        f"INSERT INTO {tables.quoted(table)} ({columns}) VALUES ({places}) "
        f"ON CONFLICT DO NOTHING RETURNING id",
        tuple(values_of.values()),
    )
    return row.get("id", found[0][0]) if found else None
