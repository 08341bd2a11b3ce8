"""The insert of a new workflow and its first execution on MySQL and MariaDB."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import Connection, Insert, insert
from sqlalchemy.exc import IntegrityError

from geneva_drive.storage.dialects.base import Row, Started
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables


def start(
    connection: Connection, tables: Tables, workflow: Row, execution: Row | None
) -> Started | None:
    """Insert both rows; None if an index refuses the workflow.

    On MySQL, a refused statement does not abort the transaction.
    """
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
    # Inline: the driver knows the new key, and SQLAlchemy takes longer to fetch it.
    return insert(tables.workflows).inline(), insert(tables.step_executions).inline()


def _insert(connection: Connection, tables: Tables, statement: Insert, values: Row) -> Key:
    [row] = tables.keyed([values])
    result = connection.execute(statement, row)
    return row.get("id", result.lastrowid)
