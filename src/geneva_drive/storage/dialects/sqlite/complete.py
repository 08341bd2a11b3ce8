"""The fast completion on SQLite: a few plain statements, each for the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from geneva_drive.storage.dialects.claim_request import top_priority
from geneva_drive.storage.dialects.completion_batch import (
    Claimant,
    Completed,
    Completion,
    CompletionBatch,
    Following,
)
from geneva_drive.storage.dialects.sqlite.statements import SQLiteStatements, moment_text, places
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.records import FOLLOW_UP_COLUMNS, Key
from geneva_drive.storage.schema.tables import Tables

# Joined in this order and by keys only. For a large batch SQLite would otherwise read all ready
# workflows, and all executions of each.
_SEEN = """
SELECT e.id, e.claim_token, w.updated_at
FROM {executions} e CROSS JOIN {workflows} w ON w.id = e.workflow_id
WHERE e.id IN ({places}) AND +e.state = 'in_progress' AND +w.state = 'ready'
    AND w.requested IS NULL
"""
_OUTRANKED = """
SELECT 1 FROM {executions}
WHERE claimable = 1 AND type IN ({types}){on_queue} AND priority > ? LIMIT 1
"""
_ATTEMPTS = """
SELECT v.column1, (
    SELECT MAX(p.attempt_number) FROM {executions} p
    WHERE p.workflow_id = v.column1 AND p.node_id = v.column2
)
FROM (VALUES {rows}) AS v
"""
# The claims were checked under the same lock.
_DONE = """
UPDATE {executions} SET state = 'completed', outcome = 'success', claim_token = NULL,
    finished_at = ?
WHERE id IN ({places}) AND +state = 'in_progress'
"""
_DECIDED = "UPDATE {executions} SET outcome = ?, result = ? WHERE id = ?"
# The expected state is a value of each row. With a literal 'ready', on an analyzed table, SQLite
# would read the whole table before a large batch to build a Bloom filter of ready workflows.
_MOVED = """
UPDATE {workflows} SET next_step_name = v.column1, previous_step_name = v.column2,
    started_at = COALESCE(started_at, v.column3), updated_at = v.column4
FROM (VALUES {rows}) AS v
WHERE id = v.column5 AND +{workflows}.state = v.column6
"""
# A separate statement: setting a state rewrites its indexes, even if the state is the same.
_FINISHED = """
UPDATE {workflows} SET state = 'finished', finished_at = ? WHERE id IN ({places})
"""
_LAST = "SELECT COALESCE(MAX(id), 0) FROM {executions}"
# The values of each follow-up after its id, in the order of `_added`; the rest is constant.
_GIVEN = (
    "workflow_id",
    "type",
    "signature",
    "step_name",
    "attempt_number",
    "state",
    "queue",
    "priority",
    "claimable",
    "wakes_at",
    "worker_id",
    "claim_token",
    "scheduled_for",
    "created_at",
    "started_at",
    "ancestry_hash",
)
_FOLLOW_UP = {name: f"column{place}" for place, name in enumerate(_GIVEN, start=2)}
_FOLLOW_UP |= {"node_id": _FOLLOW_UP["step_name"], "slot": "'chain'", "recoveries": "0"}
_ADDED = f"""
INSERT INTO {{executions}} (id, {", ".join(FOLLOW_UP_COLUMNS)})
SELECT column1, {", ".join(_FOLLOW_UP[name] for name in FOLLOW_UP_COLUMNS)}
FROM (VALUES {{rows}}) WHERE column1 IS NOT NULL
"""


def complete(
    connection: Connection, tables: Tables, batch: CompletionBatch
) -> dict[Key, Completed]:
    """Write the batch inside BEGIN IMMEDIATE; return what was written, by completed execution."""
    writer = _Writer(connection, tables, batch)
    seen = writer.still_as_seen(batch.completions)
    if not seen:
        return {}
    writer.end(seen)
    return writer.add(seen)


class _Writer:
    def __init__(self, connection: Connection, tables: Tables, batch: CompletionBatch) -> None:
        self._connection = connection
        self._tables = tables
        self._statements = SQLiteStatements(connection, tables)
        self._is_uuid = tables.key_type is KeyType.UUID
        self._claimant = batch.claimant
        self._moment = batch.now
        self._now = moment_text(batch.now)

    def still_as_seen(self, completions: Sequence[Completion]) -> list[Completion]:
        ids = [self._key(one.execution.id) for one in completions]
        rows = self._statements.execute_among(_SEEN, ids)
        found = {row[0]: (row[1], row[2]) for row in rows}
        return [
            one
            for one in completions
            if found.get(self._key(one.execution.id))
            == (one.execution.claim_token, moment_text(one.workflow.updated_at))
        ]

    def end(self, completions: Sequence[Completion]) -> None:
        ids = [self._key(one.execution.id) for one in completions]
        self._statements.execute_among(_DONE, ids, self._now)
        for one in completions:
            if one.result is not None:
                decided = (one.outcome.value, one.result, self._key(one.execution.id))
                self._statements.execute(_DECIDED, decided)
        self._statements.execute_rows(_MOVED, [self._moved(one) for one in completions])
        over = [self._key(one.workflow.id) for one in completions if one.following is None]
        if over:
            self._statements.execute_among(_FINISHED, over, self._now)

    def add(self, completions: Sequence[Completion]) -> dict[Key, Completed]:
        """Insert the follow-ups; return for each completion how its follow-up was inserted."""
        nothing = Completed(following_id=None, attempt_number=None, is_claimed=False)
        written = {one.execution.id: nothing for one in completions}
        followed = [(one, one.following) for one in completions if one.following is not None]
        if not followed:
            return written
        attempts = self._attempts(followed)
        ids = self._new_ids(len(followed))
        top = self._top_priority(min(following.priority for _, following in followed))
        rows = []
        for (one, following), key in zip(followed, ids, strict=True):
            may_claim = one.may_claim and (top is None or following.priority >= top)
            claimant = self._claimant if may_claim else None
            attempt = attempts[self._key(one.workflow.id)] + 1
            rows.append((self._key(key), *self._added(one, following, attempt, claimant)))
            written[one.execution.id] = Completed(
                following_id=key, attempt_number=attempt, is_claimed=claimant is not None
            )
        self._statements.execute_rows(_ADDED, rows)
        return written

    def _attempts(self, followed: Sequence[tuple[Completion, Following]]) -> dict[Any, int]:
        nodes = [(self._key(one.workflow.id), following.step_name) for one, following in followed]
        return {row[0]: row[1] or 0 for row in self._statements.execute_rows(_ATTEMPTS, nodes)}

    def _new_ids(self, count: int) -> list[Key]:
        if self._is_uuid:
            return [keys.new_uuid() for _ in range(count)]
        # No other connection can write now, so the next numbers are free.
        [(last,)] = self._statements.execute(_LAST, ())
        return list(range(last + 1, last + 1 + count))

    def _moved(self, one: Completion) -> tuple[Any, ...]:
        return (
            None if one.following is None else one.following.step_name,
            one.execution.step_name,
            moment_text(one.execution.started_at),
            self._now,
            self._key(one.workflow.id),
            "ready",
        )

    def _added(
        self,
        one: Completion,
        following: Following,
        attempt: int,
        claimant: Claimant | None,
    ) -> tuple[Any, ...]:
        is_due = following.scheduled_for <= self._moment
        return (
            self._key(one.workflow.id),
            one.execution.type,
            following.signature,
            following.step_name,
            attempt,
            "scheduled" if claimant is None else "in_progress",
            following.queue,
            following.priority,
            is_due and claimant is None,
            None if is_due else moment_text(following.scheduled_for),
            claimant.worker_id if claimant else None,
            claimant.claim_token if claimant else None,
            moment_text(following.scheduled_for),
            self._now,
            self._now if claimant else None,
            following.ancestry_hash,
        )

    def _top_priority(self, least: int) -> int | None:
        """Return the priority that a follow-up needs to be claimed; None if none is outranked."""
        claimant = self._claimant
        if claimant is None:
            return None
        queues = claimant.queues
        outranked = self._statements.execute(
            _OUTRANKED,
            [*claimant.types, *(queues or ()), least],
            types=places(len(claimant.types)),
            on_queue="" if queues is None else f" AND queue IN ({places(len(queues))})",
        )
        if not outranked:
            return None
        return top_priority(self._connection, self._tables, claimant.types, queues)

    def _key(self, key: Key) -> Any:
        return key.hex if self._is_uuid else key
