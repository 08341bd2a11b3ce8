"""The fast completion on MySQL and MariaDB: lock, end and add, one statement each per batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from geneva_drive.storage.dialects.claim_request import top_priority
from geneva_drive.storage.dialects.completion_batch import Completed, Completion, CompletionBatch
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.records import FOLLOW_UP_COLUMNS, Key
from geneva_drive.storage.schema.tables import Tables

# Each workflow is locked before its execution, in the order of ids. The indexes are forced: on a
# small table the optimizer prefers a scan, which would wait for rows that other workers have
# locked. The subqueries lock nothing and see what was committed when the statement began. If a
# workflow changed while the statement waited for its lock, their results are stale, and its
# completion is not written.
_LOCKED = """
SELECT e.id, e.claim_token, CAST(w.updated_at AS CHAR),
    (SELECT MAX(p.attempt_number) FROM {executions} p
     WHERE p.workflow_id = w.id AND p.node_id = {following}),
    {outranked}
FROM {workflows} w FORCE INDEX (PRIMARY)
STRAIGHT_JOIN {executions} e FORCE INDEX ({executions}_one_active)
    ON e.workflow_id = w.id AND e.slot = 'chain' AND e.active = 1
WHERE w.id IN ({workflow_ids}) AND w.state = 'ready' AND w.requested IS NULL
    AND e.state = 'in_progress'
ORDER BY w.id FOR UPDATE
"""
_OUTRANKED = """EXISTS (
        SELECT 1 FROM {executions} u FORCE INDEX ({executions}_{index})
        WHERE u.claimable = 1 AND u.type IN ({types}){on_queue} AND u.priority > {least}
    )"""
_ENDED = """
UPDATE {executions} e FORCE INDEX (PRIMARY) STRAIGHT_JOIN {workflows} w ON w.id = e.workflow_id
SET e.state = 'completed', {outcome}, e.claim_token = NULL, e.finished_at = {now},
    w.state = {state}, w.finished_at = {finished_at}, w.next_step_name = {following},
    w.previous_step_name = e.step_name, w.started_at = COALESCE(w.started_at, e.started_at),
    w.updated_at = {now}
WHERE e.id IN ({execution_ids}) AND e.state = 'in_progress' AND w.state = 'ready'
"""
# The workflow and attempt number of a row come first; `_form` returns the rest.
_OF_ROW = ("workflow_id", "attempt_number")
_OF_FORM = tuple(name for name in FOLLOW_UP_COLUMNS if name not in _OF_ROW)
_ADDED = f"""
INSERT INTO {{executions}} ({{id_column}}{", ".join((*_OF_ROW, *_OF_FORM))})
VALUES {{rows}}
"""
_READ_BACK = """
SELECT workflow_id, id FROM {executions} FORCE INDEX ({executions}_one_active)
WHERE workflow_id IN ({workflow_ids}) AND slot = 'chain' AND active = 1
"""


def complete(
    connection: Connection, tables: Tables, batch: CompletionBatch
) -> dict[Key, Completed]:
    """Write the batch; return what was written, by the id of the completed execution."""
    if connection.dialect.paramstyle == "qmark":
        return {}  # a driver without named placeholders
    writer = _Writer(connection, tables, batch)
    attempts = writer.lock(batch.completions)
    seen = [one for one in batch.completions if one.execution.id in attempts]
    if not seen:
        return {}
    writer.end(seen)
    return writer.add(seen, attempts)


class _Writer:
    def __init__(self, connection: Connection, tables: Tables, batch: CompletionBatch) -> None:
        self._connection = connection
        self._tables = tables
        self._is_uuid = tables.key_type is KeyType.UUID
        self._names = {
            "executions": tables.step_executions.name,
            "workflows": tables.workflows.name,
        }
        self._values = _Values()
        self._claimant = batch.claimant
        self._now = batch.now
        self._is_outranked = False

    def lock(self, completions: Sequence[Completion]) -> dict[Key, int]:
        """Lock rows unchanged since they were read; return each follow-up's last attempt number."""
        rows = self._execute(
            _LOCKED,
            following=self._following(completions),
            outranked=self._outranked(completions),
            workflow_ids=self._listed(one.workflow.id for one in completions),
        )
        found = {}
        for execution_id, token, updated_at, attempt, is_outranked in rows:
            found[execution_id] = token, updated_at, attempt or 0
            self._is_outranked = bool(is_outranked)
        attempts = {}
        for one in completions:
            *as_found, attempt = found.get(self._key(one.execution.id), (None, None, 0))
            if as_found == [one.execution.claim_token, _text(one.workflow.updated_at)]:
                attempts[one.execution.id] = attempt
        return attempts

    def end(self, completions: Sequence[Completion]) -> None:
        now = self._values.place(_text(self._now))
        over = self._listed(one.workflow.id for one in completions if one.following is None)
        self._execute(
            _ENDED,
            now=now,
            outcome=self._outcome(completions),
            state=f"IF(w.id IN ({over}), 'finished', 'ready')" if over else "'ready'",
            finished_at=f"IF(w.id IN ({over}), {now}, NULL)" if over else "NULL",
            following=self._following(completions),
            execution_ids=self._listed(one.execution.id for one in completions),
        )

    def add(
        self, completions: Sequence[Completion], attempts: Mapping[Key, int]
    ) -> dict[Key, Completed]:
        """Insert the follow-ups; return for each completion how its follow-up was inserted."""
        nothing = Completed(following_id=None, attempt_number=None, is_claimed=False)
        written = {one.execution.id: nothing for one in completions}
        followed = [one for one in completions if one.following is not None]
        if not followed:
            return written
        is_claimed = self._claims(followed)
        forms: dict[tuple[Any, ...], str] = {}
        rows = []
        for one, claims in zip(followed, is_claimed, strict=True):
            alike = _alike(one, claims)
            form = forms.get(alike) or forms.setdefault(alike, self._form(one, claims))
            rows.append((one.workflow.id, attempts[one.execution.id] + 1, form))
        ids = self._insert(rows)
        for one, claims in zip(followed, is_claimed, strict=True):
            written[one.execution.id] = Completed(
                following_id=ids[self._key(one.workflow.id)],
                attempt_number=attempts[one.execution.id] + 1,
                is_claimed=claims,
            )
        return written

    def _insert(self, rows: Sequence[tuple[Key, int, str]]) -> dict[Any, Key]:
        """Insert rows of (workflow, attempt, the rest); return their ids by workflow."""
        if self._is_uuid:
            ids = {workflow_id.hex: keys.new_uuid() for workflow_id, _, _ in rows}
            given = [
                f"('{ids[workflow_id.hex].hex}', '{workflow_id.hex}', {attempt}, {form})"
                for workflow_id, attempt, form in rows
            ]
            self._execute(_ADDED, id_column="id, ", rows=", ".join(given))
            return ids
        given = [f"({workflow_id}, {attempt}, {form})" for workflow_id, attempt, form in rows]
        # Only MariaDB returns the new ids, and MySQL does not promise that they are consecutive.
        if getattr(self._connection.dialect, "insert_returning", False):
            returning = f"{_ADDED} RETURNING workflow_id, id"
            found = self._execute(returning, id_column="", rows=", ".join(given))
        else:
            self._execute(_ADDED, id_column="", rows=", ".join(given))
            listed = self._listed(workflow_id for workflow_id, _, _ in rows)
            found = self._execute(_READ_BACK, workflow_ids=listed)
        return {row[0]: row[1] for row in found}

    def _form(self, one: Completion, claims: bool) -> str:
        """Return the part of a row that most rows of a batch share, as SQL."""
        following = one.following
        assert following is not None, "add() has checked"
        place = self._values.place
        name, now = place(following.step_name), place(_text(self._now))
        scheduled_for = place(_text(following.scheduled_for))
        is_due = following.scheduled_for <= self._now
        claimant = self._claimant if claims else None
        values = {
            "slot": "'chain'",
            "type": place(one.execution.type),
            "signature": place(following.signature),
            "step_name": name,
            "node_id": name,
            "queue": place(following.queue),
            "priority": str(following.priority),
            "state": "'in_progress'" if claimant else "'scheduled'",
            "claimable": "1" if is_due and not claimant else "0",
            "wakes_at": "NULL" if is_due else scheduled_for,
            "worker_id": place(claimant.worker_id) if claimant else "NULL",
            "claim_token": place(claimant.claim_token) if claimant else "NULL",
            "recoveries": "0",
            "scheduled_for": scheduled_for,
            "created_at": now,
            "started_at": now if claimant else "NULL",
            "ancestry_hash": place(following.ancestry_hash),
        }
        return ", ".join(values[column] for column in _OF_FORM)

    def _outcome(self, completions: Iterable[Completion]) -> str:
        """Return the SQL that sets each execution's outcome, and the result of a decision."""
        decided = [one for one in completions if one.result is not None]
        if not decided:
            return "e.outcome = 'success'"
        place = self._values.place
        of = {one.execution.id: self._listed([one.execution.id]) for one in decided}
        outcomes = [f"WHEN {of[one.execution.id]} THEN {place(one.outcome)}" for one in decided]
        results = [f"WHEN {of[one.execution.id]} THEN {place(one.result)}" for one in decided]
        return (
            f"e.outcome = CASE e.id {' '.join(outcomes)} ELSE 'success' END, "
            f"e.result = CASE e.id {' '.join(results)} ELSE e.result END"
        )

    def _following(self, completions: Iterable[Completion]) -> str:
        """Return the SQL that chooses the next step's name by workflow."""
        ids: dict[str, list[Key]] = defaultdict(list)
        for one in completions:
            if one.following is not None:
                ids[one.following.step_name].append(one.workflow.id)
        if not ids:
            return "NULL"
        cases = [
            f"WHEN w.id IN ({self._listed(listed)}) THEN {self._values.place(name)}"
            for name, listed in ids.items()
        ]
        return f"CASE {' '.join(cases)} END"

    def _outranked(self, completions: Sequence[Completion]) -> str:
        """Return the SQL condition that a due execution outranks a follow-up of the batch."""
        claimant = self._claimant
        priorities = [one.following.priority for one in completions if one.following]
        if claimant is None or not priorities:
            return "FALSE"
        queues = claimant.queues
        return _OUTRANKED.format(
            executions=self._names["executions"],
            index="claim" if queues is None else "claim_queue",
            types=self._values.places(claimant.types),
            on_queue="" if queues is None else f" AND u.queue IN ({self._values.places(queues)})",
            least=min(priorities),
        )

    def _claims(self, followed: Sequence[Completion]) -> list[bool]:
        """Return which follow-ups are inserted already claimed."""
        claimant = self._claimant
        if claimant is None:
            return [False] * len(followed)
        top = None
        if self._is_outranked:
            top = top_priority(self._connection, self._tables, claimant.types, claimant.queues)
        return [
            one.may_claim
            and (top is None or (one.following is not None and one.following.priority >= top))
            for one in followed
        ]

    def _execute(self, statement: str, **parts: str) -> Any:
        written = statement.format(**self._names, **parts)
        return self._connection.exec_driver_sql(written, self._values.take())

    def _listed(self, ids: Iterable[Key]) -> str:
        """Return keys as SQL literals, which are safe: keys are numbers or hexadecimal."""
        if self._is_uuid:
            return ", ".join(f"'{key.hex}'" for key in ids)
        return ", ".join(map(str, ids))

    def _key(self, key: Key) -> Any:
        return key.hex if self._is_uuid else key


def _alike(one: Completion, claims: bool) -> tuple[Any, ...]:
    """Return the values on which `_form` depends."""
    following = one.following
    assert following is not None, "add() has checked"
    return (
        one.execution.type,
        following.signature,
        following.step_name,
        following.queue,
        following.priority,
        following.scheduled_for,
        following.ancestry_hash,
        claims,
    )


class _Values:
    """The values of a statement. Equal values are sent once, because escaping them takes time."""

    def __init__(self) -> None:
        self._places: dict[str | None, str] = {}

    def place(self, value: str | None) -> str:
        place = self._places.get(value)
        if place is None:
            place = self._places[value] = f"%(v{len(self._places)})s"
        return place

    def places(self, values: Iterable[str]) -> str:
        return ", ".join(map(self.place, values))

    def take(self) -> dict[str, str | None]:
        """Return the values by name, and start over for the next statement."""
        values = {f"v{number}": value for number, value in enumerate(self._places)}
        self._places = {}
        return values


def _text(moment: datetime) -> str:
    """Return a moment in the format of the database."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
