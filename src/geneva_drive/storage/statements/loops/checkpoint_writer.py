"""Saves checkpoints of loops, bypassing SQLAlchemy: a loop may save one after each of many items.

SQLAlchemy takes longer for the statement than SQLite for the commit. So the driver executes it, on
a kept connection that autocommits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from geneva_drive.storage.connections.database import Database
from geneva_drive.storage.dialects.sqlite.statements import plain
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.loops.checkpoints import Checkpoints, CheckpointUpdate
from geneva_drive.storage.statements.loops.history_writer import HistoryWriter

_SAVE = (
    "UPDATE {executions} SET {cursor} = {p}, completed_iterations = {p}{progress} "
    "WHERE id = {p} AND claim_token = {p} AND stop IS NULL"
)
_PROGRESS = ", progress = COALESCE({p}, progress)"

Row = tuple[Any, ...]

_ExecuteMany = Callable[[Any, str, Sequence[Row]], None]


class CheckpointWriter:
    """Saves checkpoints, several of them in one transaction."""

    def __init__(self, database: Database, tables: Tables, checkpoints: Checkpoints) -> None:
        self._database = database
        self._checkpoints = checkpoints
        self._history = HistoryWriter(database, tables, checkpoints)
        self._alone, self._driver = database.dialect.writing_alone, database.driver
        dialect, engine_dialect = database.dialect, database.engine.dialect
        # On a user's own engine with a different driver, SQLAlchemy executes the statement.
        is_own_driver = engine_dialect.driver == dialect.own_driver
        self._execute_many = dialect.execute_many if is_own_driver else None
        # Errors of the driver, and of SQLAlchemy when it opens the connection.
        self._refusals = (engine_dialect.loaded_dbapi.Error, DBAPIError, NoFreeConnection)
        is_plain = dialect.driver_takes_uuids or tables.key_type is not KeyType.UUID
        self._row = _plain_row if is_plain else _row_of_uuid
        place, quote = dialect.placeholder, dialect.quote
        self._statement, self._statement_with_progress = (
            _SAVE.format(
                executions=f"{quote}{tables.step_executions.name}{quote}",
                cursor=f"{quote}cursor{quote}",
                p=place,
                progress=shown,
            )
            for shown in ("", _PROGRESS.format(p=place))
        )

    def save(self, positions: Sequence[CheckpointUpdate]) -> list[bool]:
        """Save checkpoints; False for each that matched no row, so that its loop finds out why.

        Not for the first checkpoint after failures, which also clears the failure counts.
        """
        recorded = [one for one in positions if one.entry is not None]
        if recorded:
            others = [one for one in positions if one.entry is None]
            are_recorded = self._history.save(recorded)
            saved = iter(self._save(others) if others else ())
            return [are_recorded if one.entry is not None else next(saved) for one in positions]
        return self._save(positions)

    def _save(self, positions: Sequence[CheckpointUpdate]) -> list[bool]:
        if self._execute_many is not None and not self._database.is_joined:
            try:
                if self._save_past_sqlalchemy(self._execute_many, positions):
                    return [True] * len(positions)
            except self._refusals:
                # SQLAlchemy raises errors that callers know. Saving the same checkpoint twice is
                # harmless.
                pass
        return [self._save_by_sqlalchemy(one) for one in positions]

    def save_one(self, position: CheckpointUpdate) -> bool:
        """Save one checkpoint; the fast path of nearly all checkpoints."""
        if (
            self._execute_many is None
            or position.progress is not None
            or position.entry is not None
            or self._database.is_joined
        ):
            return self.save([position])[0]
        try:
            with self._alone, self._driver as cursor:
                cursor.execute(self._statement, self._row(position))
                if cursor.rowcount == 1:
                    return True
        except self._refusals:
            pass  # as in `save`
        return self._save_by_sqlalchemy(position)

    def _save_by_sqlalchemy(self, one: CheckpointUpdate) -> bool:
        return self._database.write(
            lambda connection: self._checkpoints.save(connection, one), waits=False
        )

    def _save_past_sqlalchemy(
        self, execute_many: _ExecuteMany, positions: Sequence[CheckpointUpdate]
    ) -> bool:
        statement, rows = self._statement, [self._row(one) for one in positions]
        if any(one.progress is not None for one in positions):
            statement = self._statement_with_progress
            rows = [(*r[:2], p.progress, *r[2:]) for r, p in zip(rows, positions, strict=True)]
        with self._alone, self._driver as cursor:
            execute_many(cursor, statement, rows)
            return bool(cursor.rowcount == len(rows))


_plain_row: Callable[[CheckpointUpdate], Row] = itemgetter(slice(4))


def _row_of_uuid(one: CheckpointUpdate) -> Row:
    return one.cursor, one.completed_iterations, plain(one.execution_id), one.claim_token
