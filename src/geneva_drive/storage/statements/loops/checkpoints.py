"""Statements on the cursors of resumable steps and on their checkpoint history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, func, insert, select, update

from geneva_drive.storage.schema.records import CheckpointRecord, Key
from geneva_drive.storage.schema.tables import Tables


class HistoryEntry(NamedTuple):
    """The values of a new row of `checkpoints`, in addition to those of the checkpoint."""

    workflow_id: Key
    reason: str
    at: datetime


class CheckpointUpdate(NamedTuple):
    """The values of one checkpoint, with the claim of its loop.

    A tuple, because a loop may create millions of them. The first four are in the order of the
    parameters in the statement of `checkpoint_writer.py`.
    """

    cursor: str | None
    completed_iterations: int
    execution_id: Key
    claim_token: str
    item_errors: int
    progress: str | None  # None keeps the last value
    entry: HistoryEntry | None = None  # of a batch worker, whose every checkpoint is on record

    @property
    def workflow_id(self) -> Key:
        assert self.entry is not None, "only a checkpoint with a history entry knows its workflow"
        return self.entry.workflow_id


def history_row(update: CheckpointUpdate) -> dict[str, Any]:
    """Return the row of `checkpoints` for a checkpoint with a history entry."""
    assert update.entry is not None, "a checkpoint without an entry has no row"
    return {
        **update.entry._asdict(),
        "execution_id": update.execution_id,
        "cursor": update.cursor,
        "completed_iterations": update.completed_iterations,
    }


class Checkpoints:
    """The cursors in `step_executions`, and the rows of `checkpoints`, which are never changed.

    One guarded statement saves a cursor: the claim must hold, and no stop may be requested. If it
    matches no row, the caller finds out why. A loop that saves has advanced, so the statement also
    clears the counts of the step's earlier failures.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.checkpoints
        self._executions = tables.step_executions
        self._rows = select(
            *(self._table.c[name] for name in CheckpointRecord.__dataclass_fields__)
        )
        c = self._executions.c
        self._save = (
            update(self._executions)
            .where(
                c.id == bindparam("of_execution"),
                c.claim_token == bindparam("under_token"),
                c.stop.is_(None),
            )
            .values(
                cursor=bindparam("at_cursor"),
                completed_iterations=bindparam("completed"),
                item_errors=bindparam("errors"),
                progress=func.coalesce(bindparam("shown", type_=c.progress.type), c.progress),
                failures=None,
                recoveries=0,
            )
        )

    def save(
        self, connection: Connection, position: CheckpointUpdate, *, after: int | None = None
    ) -> bool:
        """Save a cursor in the caller's transaction; False if its loop must not continue.

        `after` is the number of iterations that must be saved so far: a commit whose answer was
        lost may have saved more.
        """
        values = {
            "of_execution": position.execution_id,
            "under_token": position.claim_token,
            "at_cursor": position.cursor,
            "completed": position.completed_iterations,
            "errors": position.item_errors,
            "shown": position.progress,
        }
        statement = self._save
        if after is not None:
            statement = self._save.where(self._executions.c.completed_iterations == after)
        return connection.execute(statement, values).rowcount == 1

    def append(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            connection.execute(insert(self._table), self._tables.keyed(rows))

    def of_execution(self, connection: Connection, execution_id: Key) -> list[CheckpointRecord]:
        c = self._table.c
        query = self._rows.where(c.execution_id == execution_id).order_by(c.id)
        return _records(connection, query)

    def of_workflow(
        self, connection: Connection, workflow_id: Key, *, besides: Collection[str]
    ) -> dict[Key, list[CheckpointRecord]]:
        """Return the rows whose reason is not in `besides`, by execution, oldest first."""
        c = self._table.c
        query = self._rows.where(c.workflow_id == workflow_id, c.reason.not_in(besides))
        found: dict[Key, list[CheckpointRecord]] = defaultdict(list)
        for record in _records(connection, query.order_by(c.id)):
            found[record.execution_id].append(record)
        return found

    def latest(
        self, connection: Connection, execution_id: Key, count: int, *, besides: str
    ) -> list[CheckpointRecord]:
        """Return the latest rows whose reason is not `besides`, oldest first."""
        c = self._table.c
        query = (
            self._rows.where(c.execution_id == execution_id, c.reason != besides)
            .order_by(c.id.desc())
            .limit(count)
        )
        return _records(connection, query)[::-1]

    def of_steps(
        self,
        connection: Connection,
        workflow_id: Key,
        step_names: Collection[str] | None,
        reason: str,
    ) -> list[tuple[str, CheckpointRecord]]:
        """Return the rows with this reason, each with its node id, in the order of their ids.

        Without `step_names`, those of all steps.
        """
        c, executions = self._table.c, self._executions.c
        query = (
            self._rows.add_columns(executions.node_id)
            .join(self._executions, executions.id == c.execution_id)
            .where(c.workflow_id == workflow_id, c.reason == reason)
            .order_by(c.id)
        )
        if step_names is not None:
            query = query.where(executions.step_name.in_(step_names))
        rows = connection.execute(query).mappings()
        return [(row.pop("node_id"), CheckpointRecord(**row)) for row in map(dict, rows)]


def _records(connection: Connection, query: Select[Any]) -> list[CheckpointRecord]:
    return [CheckpointRecord(**row) for row in connection.execute(query).mappings()]
