"""The fast commit on SQLite: a few plain statements, each for the whole batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from geneva_drive.storage import keys
from geneva_drive.storage.completions import Batch, Claimant, Completed, Completion
from geneva_drive.storage.keys import KeyType
from geneva_drive.storage.records import Key
from geneva_drive.storage.tables import Tables

_SEEN = """
SELECT e.id, e.claim_token, w.updated_at
FROM {executions} e JOIN {workflows} w ON w.id = e.workflow_id
WHERE e.id IN ({places}) AND e.state = 'in_progress' AND w.state = 'ready' AND w.requested IS NULL
"""
_TOP = "SELECT MAX(priority) FROM {executions} WHERE claimable = 1 AND type IN ({types}){queues}"
_DONE = """
UPDATE {executions} SET state = 'completed', outcome = 'success', claim_token = NULL,
    finished_at = ?
WHERE id = ? AND state = 'in_progress' AND claim_token = ?
"""
_MOVED = """
UPDATE {workflows} SET state = ?, finished_at = ?, next_step_name = ?, previous_step_name = ?,
    started_at = COALESCE(started_at, ?), updated_at = ?
WHERE id = ? AND state = 'ready'
"""
_ADDED = """
INSERT INTO {executions} (id, workflow_id, type, signature, step_name, node_id, slot,
    attempt_number, state, queue, priority, claimable, wakes_at, worker_id, claim_token,
    recoveries, scheduled_for, created_at, started_at)
SELECT ?, ?, ?, ?, ?, ?, 'chain', COALESCE(MAX(attempt_number), 0) + 1, ?, ?, ?, ?, ?, ?, ?,
    0, ?, ?, ?
FROM {executions} WHERE workflow_id = ? AND node_id = ?
"""
_FOUND = """
SELECT id, workflow_id, attempt_number, claim_token IS NOT NULL FROM {executions}
WHERE workflow_id IN ({places}) AND state IN ('scheduled', 'in_progress')
"""


def complete(connection: Connection, tables: Tables, batch: Batch) -> dict[Key, Completed]:
    """Write the batch inside BEGIN IMMEDIATE, which is the lock; give what was written."""
    writer = _Writer(connection, tables, batch)
    seen = writer.still_as_seen(batch.completions)
    if not seen:
        return {}
    writer.end(seen)
    writer.add(seen)
    return writer.read_back(seen)


class _Writer:
    def __init__(self, connection: Connection, tables: Tables, batch: Batch) -> None:
        self._connection = connection
        self._is_uuid = tables.key_type is KeyType.UUID
        self._names = {
            "executions": tables.step_executions.name,
            "workflows": tables.workflows.name,
        }
        self._claimant = batch.claimant
        self._moment = batch.now
        self._now = _text(batch.now)

    def still_as_seen(self, completions: Sequence[Completion]) -> list[Completion]:
        ids = [self._key(one.execution.id) for one in completions]
        rows = self._execute(_SEEN, ids, places=_places(ids))
        found = {row[0]: (row[1], row[2]) for row in rows}
        return [
            one
            for one in completions
            if found.get(self._key(one.execution.id))
            == (one.execution.claim_token, _text(one.workflow.updated_at))
        ]

    def end(self, completions: Sequence[Completion]) -> None:
        done = [
            (self._now, self._key(one.execution.id), one.execution.claim_token)
            for one in completions
        ]
        self._execute_many(_DONE, done)
        self._execute_many(_MOVED, [self._moved(one) for one in completions])

    def add(self, completions: Sequence[Completion]) -> None:
        top = self._top_priority()
        rows = [
            self._added(one, one.following, self._claims(one, one.following, top))
            for one in completions
            if one.following is not None
        ]
        if rows:
            self._execute_many(_ADDED, rows)

    def read_back(self, completions: Sequence[Completion]) -> dict[Key, Completed]:
        ids = [self._key(one.workflow.id) for one in completions]
        found = {row[1]: row for row in self._execute(_FOUND, ids, places=_places(ids))}
        return {
            one.execution.id: self._completed(found.get(self._key(one.workflow.id)))
            for one in completions
        }

    def _completed(self, row: Any) -> Completed:
        if row is None:
            return Completed(following_id=None, attempt_number=None, is_claimed=False)
        key = keys.parse(KeyType.UUID, row[0]) if self._is_uuid else row[0]
        return Completed(following_id=key, attempt_number=row[2], is_claimed=bool(row[3]))

    def _moved(self, one: Completion) -> tuple[Any, ...]:
        following = one.following
        return (
            "finished" if following is None else "ready",
            self._now if following is None else None,
            None if following is None else following["step_name"],
            one.execution.step_name,
            _text(one.execution.started_at),
            self._now,
            self._key(one.workflow.id),
        )

    def _added(
        self, one: Completion, following: Mapping[str, Any], claimant: Claimant | None
    ) -> tuple[Any, ...]:
        is_due = following["scheduled_for"] <= self._moment
        name = following["step_name"]
        workflow_id = self._key(one.workflow.id)
        return (
            keys.new_uuid().hex if self._is_uuid else None,
            workflow_id,
            one.workflow.type,
            following["signature"],
            name,
            name,
            "scheduled" if claimant is None else "in_progress",
            following["queue"],
            following["priority"],
            is_due and claimant is None,
            None if is_due else _text(following["scheduled_for"]),
            claimant.worker_id if claimant else None,
            claimant.claim_token if claimant else None,
            _text(following["scheduled_for"]),
            self._now,
            self._now if claimant else None,
            workflow_id,
            name,
        )

    def _claims(
        self, one: Completion, following: Mapping[str, Any], top: int | None
    ) -> Claimant | None:
        claimant = self._claimant
        if claimant is None or not one.may_claim or following["scheduled_for"] > self._moment:
            return None
        is_served = claimant.queues is None or following["queue"] in claimant.queues
        is_urgent = top is None or following["priority"] >= top
        return claimant if is_served and is_urgent else None

    def _top_priority(self) -> int | None:
        claimant = self._claimant
        if claimant is None:
            return None
        queues = claimant.queues
        row = self._execute(
            _TOP,
            [*claimant.types, *(queues or ())],
            types=_places(claimant.types),
            queues="" if queues is None else f" AND queue IN ({_places(queues)})",
        ).one()
        top: int | None = row[0]
        return top

    def _execute(self, statement: str, values: Sequence[Any], **parts: str) -> Any:
        written = statement.format(**self._names, **parts)
        return self._connection.exec_driver_sql(written, tuple(values))

    def _execute_many(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        self._connection.exec_driver_sql(statement.format(**self._names), rows)

    def _key(self, key: Key) -> Any:
        return key.hex if self._is_uuid else key


def _places(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _text(moment: datetime | None) -> str | None:
    """Write a moment as SQLAlchemy does on SQLite."""
    if moment is None:
        return None
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
