"""Saves checkpoints of batch workers, each with a row of history, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from geneva_drive.errors import StorageError
from geneva_drive.storage.connections.database import Database
from geneva_drive.storage.schema.keys import KeyType, new_uuid
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.loops.checkpoints import (
    Checkpoints,
    CheckpointUpdate,
    history_row,
)

# Lock the workflow first: commands lock it before its executions, and the new row refers to it.
_ON_POSTGRESQL = """
WITH held AS MATERIALIZED (
    SELECT id FROM {workflows} WHERE id = %(workflow_id)s FOR KEY SHARE
), saved AS (
    UPDATE {executions} AS e SET "cursor" = %(cursor)s, completed_iterations = %(completed)s,
        progress = COALESCE(%(progress)s, e.progress)
    FROM held
    WHERE e.id = %(execution_id)s AND e.claim_token = %(claim_token)s AND e.stop IS NULL
        AND e.workflow_id = held.id
    RETURNING e.id AS execution_id, e.workflow_id, e."cursor", e.completed_iterations
)
INSERT INTO {checkpoints}
    ({key_column}workflow_id, execution_id, "cursor", completed_iterations, reason, at)
SELECT {key}workflow_id, execution_id, "cursor", completed_iterations, %(reason)s, %(at)s
FROM saved
"""


class _NotSaved(Exception):
    """A checkpoint matched no row; rolls back the rows of the whole group."""


class HistoryWriter:
    """Saves checkpoints with their history; on PostgreSQL, one checkpoint takes one round trip."""

    def __init__(self, database: Database, tables: Tables, checkpoints: Checkpoints) -> None:
        self._database = database
        self._checkpoints = checkpoints
        self._execute_many = database.dialect.execute_many
        engine_dialect = database.engine.dialect
        self._refusals = (engine_dialect.loaded_dbapi.Error, DBAPIError, NoFreeConnection)
        self._has_uuids = tables.key_type is KeyType.UUID
        is_postgresql = engine_dialect.driver == "psycopg" and database.dialect.is_at_once
        self._statement = _statement(tables) if is_postgresql else None

    def save(self, updates: Sequence[CheckpointUpdate]) -> bool:
        """Save checkpoints; True if all are saved, False if that is not certain.

        After False, each caller reads what is saved before it tries again: saving twice would add
        a second row.
        """
        ordered = sorted(updates, key=lambda one: one.workflow_id)
        try:
            if self._statement is not None and not self._database.is_joined:
                return self._save_past_sqlalchemy(self._statement, ordered)
            self._database.write_group(lambda c: self._save(c, ordered), waits=False)
        except (*self._refusals, StorageError, _NotSaved):
            return False
        return True

    def _save(self, connection: Connection, updates: Sequence[CheckpointUpdate]) -> None:
        # Insert the rows first, for the same order of locks.
        self._checkpoints.append(connection, [history_row(one) for one in updates])
        for one in updates:
            if not self._checkpoints.save(connection, one):
                raise _NotSaved

    def _save_past_sqlalchemy(self, statement: str, updates: Sequence[CheckpointUpdate]) -> bool:
        rows: list[Any] = [self._values(one) for one in updates]
        with self._database.driver as cursor:
            if len(rows) == 1:
                cursor.execute(statement, rows[0])
            else:
                self._execute_many(cursor, statement, rows)
            return bool(cursor.rowcount == len(rows))

    def _values(self, one: CheckpointUpdate) -> dict[str, Any]:
        values = {
            **history_row(one),
            "completed": one.completed_iterations,
            "claim_token": one.claim_token,
            "progress": one.progress,
        }
        return {**values, "key": new_uuid()} if self._has_uuids else values


def _statement(tables: Tables) -> str:
    has_uuids = tables.key_type is KeyType.UUID
    return _ON_POSTGRESQL.format(
        workflows=tables.quoted(tables.workflows),
        executions=tables.quoted(tables.step_executions),
        checkpoints=tables.quoted(tables.checkpoints),
        key_column="id, " if has_uuids else "",
        key="%(key)s::uuid, " if has_uuids else "",
    )
