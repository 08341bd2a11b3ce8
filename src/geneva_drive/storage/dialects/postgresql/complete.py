"""The fast completion on PostgreSQL: one statement, which locks before it checks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection

from geneva_drive.storage.dialects import driver
from geneva_drive.storage.dialects.completion_batch import (
    Claimant,
    Completed,
    Completion,
    CompletionBatch,
)
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.records import FOLLOW_UP_COLUMNS, Key
from geneva_drive.storage.schema.tables import Tables

# The values of each completion: name and type.
_GIVEN = (
    ("execution_id", "{key}"),
    ("workflow_id", "{key}"),
    ("token", "text"),
    ("step_name", "text"),
    ("started_at", "timestamptz"),
    ("seen_at", "timestamptz"),
    ("following_id", "{key}"),
    ("name", "text"),
    ("signature", "text"),
    ("queue", "text"),
    ("priority", "int"),
    ("scheduled_for", "timestamptz"),
    ("may_claim", "bool"),
    ("ancestry_hash", "text"),
)

# The values of each completion in a batch with decisions.
_WITH_RESULTS = (*_GIVEN, ("outcome", "text"), ("result", "text"))

# Workflows are locked in the order of their ids, then checked: so a concurrent pause or cancel is
# seen, and there are no deadlocks. Each CTE reads the previous one, so an execution is completed
# before its follow-up is inserted, and the index of "one active per workflow" is never violated.
# A condition inside IS TRUE cannot use an index: the rows are found by their keys, whatever the
# statistics say. Joining two lists would be quadratic.
_STATEMENT = """
WITH given AS (
    {given}
), ok AS (
    SELECT g.*, {claims} AS claims
    FROM given g
    CROSS JOIN LATERAL (
        SELECT w.id FROM {workflows} w
        WHERE w.id = g.workflow_id
          AND (w.state = 'ready' AND w.requested IS NULL AND w.updated_at = g.seen_at) IS TRUE
        FOR UPDATE
    ) w
    WHERE {few}
), done AS (
    UPDATE {executions} e
    SET state = 'completed', {outcome}, claim_token = NULL, finished_at = %(now)b
    FROM ok
    WHERE e.id = ok.execution_id
      AND (e.state = 'in_progress' AND e.claim_token = ok.token) IS TRUE
    RETURNING ok.*, e.type
), moved AS (
    UPDATE {workflows} w
    SET state = CASE WHEN done.name IS NULL THEN 'finished' ELSE 'ready' END,
        finished_at = CASE WHEN done.name IS NULL THEN %(now)b::timestamptz END,
        next_step_name = done.name, previous_step_name = done.step_name,
        started_at = COALESCE(w.started_at, done.started_at), updated_at = %(now)b
    FROM done WHERE w.id = done.workflow_id
    RETURNING done.*
), added AS (
    INSERT INTO {executions} ({id_column} {columns})
    SELECT {id_value} {values}
    FROM moved m WHERE m.name IS NOT NULL
    RETURNING id, workflow_id, attempt_number, claim_token
)
SELECT workflow_id, id, attempt_number, claim_token IS NOT NULL FROM added
UNION ALL
SELECT workflow_id, NULL, NULL, false FROM moved WHERE name IS NULL
"""
_OUTCOME = "outcome = 'success'"
_OWN_OUTCOME = "outcome = ok.outcome, result = ok.result"
_FOLLOW_UP = {
    "workflow_id": "m.workflow_id",
    "attempt_number": """COALESCE((SELECT max(p.attempt_number) FROM {executions} p
        WHERE p.workflow_id = m.workflow_id AND p.node_id = m.name), 0) + 1""",
    "slot": "'chain'",
    "type": "m.type",
    "signature": "m.signature",
    "step_name": "m.name",
    "node_id": "m.name",
    "queue": "m.queue",
    "priority": "m.priority",
    "state": "CASE WHEN m.claims THEN 'in_progress' ELSE 'scheduled' END",
    "claimable": "NOT m.claims AND m.scheduled_for <= %(now)b",
    "wakes_at": "CASE WHEN m.scheduled_for > %(now)b THEN m.scheduled_for END",
    "worker_id": "CASE WHEN m.claims THEN %(worker_id)b::text END",
    "claim_token": "CASE WHEN m.claims THEN %(claim_token)b::text END",
    "recoveries": "0",
    "scheduled_for": "m.scheduled_for",
    "created_at": "%(now)b",
    "started_at": "CASE WHEN m.claims THEN %(now)b::timestamptz END",
    "ancestry_hash": "m.ancestry_hash",
}
# Always true, but makes the planner expect very few rows. The server may keep a plan that it made
# while the tables were small: if it expected many rows, it would scan the whole table.
_FEW = "g.token = g.token || '' AND g.step_name = g.step_name || ''"
# Checked once for the least urgent follow-up of a batch. If that is outranked, each is checked.
_CLAIMS_OF_ONE = "g.may_claim AND NOT {least}"
_CLAIMS = "g.may_claim AND (NOT {least} OR NOT {own})"
_OUTRANKED = """EXISTS (
        SELECT 1 FROM {lanes} CROSS JOIN LATERAL (
            SELECT u.priority FROM {executions} u
            WHERE u.claimable AND u.type = lane.type{on_queue}
            ORDER BY u.priority DESC, u.id LIMIT 1
        ) top
        WHERE top.priority > {than}
    )"""
_TYPES = "(VALUES {types}) AS lane(type)"
_QUEUES = " CROSS JOIN (VALUES {queues}) AS q(queue)"
_ON_QUEUE = " AND u.queue = q.queue"

_Given = tuple[tuple[str, str], ...]
_Lanes = tuple[int, int | None]  # number of types, and of queues unless all are served


def complete(
    connection: Connection, tables: Tables, batch: CompletionBatch
) -> dict[Key, Completed]:
    """Write the batch; return what was written, by the id of the completed execution."""
    completions = batch.completions
    # A batch of one uses plain values, for which the server keeps one plan.
    is_one = len(completions) == 1
    if not is_one:
        # All code that locks several workflows does so in the order of their ids.
        completions = sorted(completions, key=lambda one: one.workflow.id)
    values: dict[str, Any] = {"now": batch.now, "worker_id": None, "claim_token": None}
    if batch.claimant is not None:
        values |= _claimant_values(batch.claimant, completions)
    given = _WITH_RESULTS if batch.has_results else _GIVEN
    rows = [_row(one, is_uuid=tables.key_type is KeyType.UUID) for one in completions]
    if batch.has_results:
        rows = [
            (*row, one.outcome.value, one.result)
            for row, one in zip(rows, completions, strict=True)
        ]
    columns = rows[0] if is_one else [list(column) for column in zip(*rows, strict=True)]
    values |= {name: column for (name, _), column in zip(given, columns, strict=True)}
    driver_name, lanes = connection.dialect.driver, _lanes(batch.claimant)
    statement = _statement_for(tables, driver_name, given, lanes, is_one=is_one)
    executions = {one.workflow.id: one.execution.id for one in completions}
    return {
        executions[workflow_id]: Completed(
            following_id=following_id, attempt_number=attempt, is_claimed=is_claimed
        )
        for workflow_id, following_id, attempt, is_claimed in driver.execute(
            connection, statement, values
        )
    }


def _claimant_values(claimant: Claimant, completions: Sequence[Completion]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "worker_id": claimant.worker_id,
        "claim_token": claimant.claim_token,
        "least": min((one.following.priority for one in completions if one.following), default=0),
    }
    # No lists: the driver takes longer to send a list than to execute the whole statement.
    values |= {f"type_{number}": name for number, name in enumerate(claimant.types)}
    values |= {f"queue_{number}": name for number, name in enumerate(claimant.queues or ())}
    return values


def _row(one: Completion, *, is_uuid: bool) -> tuple[Any, ...]:
    """Return a completion's values in the order of `_GIVEN`."""
    execution, workflow, following = one.execution, one.workflow, one.following
    ended = (
        execution.id,
        workflow.id,
        execution.claim_token,
        execution.step_name,
        execution.started_at,
        workflow.updated_at,
    )
    if following is None:
        return (*ended, None, None, None, None, None, None, False, None)
    return (
        *ended,
        keys.new_uuid() if is_uuid else None,
        following.step_name,
        following.signature,
        following.queue,
        following.priority,
        following.scheduled_for,
        one.may_claim,
        following.ancestry_hash,
    )


def _lanes(claimant: Claimant | None) -> _Lanes | None:
    if claimant is None:
        return None
    return len(claimant.types), None if claimant.queues is None else len(claimant.queues)


@lru_cache(maxsize=64)
def _statement_for(
    tables: Tables, driver_name: str, given: _Given, lanes: _Lanes | None, *, is_one: bool
) -> str:
    is_uuid = tables.key_type is KeyType.UUID
    executions = tables.quoted(tables.step_executions)
    values = ", ".join(_FOLLOW_UP[name] for name in FOLLOW_UP_COLUMNS)
    written = _STATEMENT.format(
        executions=executions,
        workflows=tables.quoted(tables.workflows),
        given=_given(given, is_one=is_one),
        outcome=_OUTCOME if given is _GIVEN else _OWN_OUTCOME,
        few=_FEW,
        claims=_claims(lanes, executions, is_one=is_one),
        columns=", ".join(FOLLOW_UP_COLUMNS),
        values=values.format(executions=executions),
        id_column="id," if is_uuid else "",
        id_value="m.following_id," if is_uuid else "",
    ).replace("{key}", "uuid" if is_uuid else "bigint")
    # psycopg sends values marked `b` in binary, ten times faster for long lists; other drivers
    # have only %s.
    return written if driver_name == "psycopg" else written.replace(")b", ")s")


def _given(given: _Given, *, is_one: bool) -> str:
    if is_one:
        listed = ", ".join(f"%({name})b::{kind} AS {name}" for name, kind in given)
        return f"SELECT {listed}"
    lists = ", ".join(f"%({name})b::{kind}[]" for name, kind in given)
    return f"SELECT * FROM unnest({lists}) AS g({', '.join(name for name, _ in given)})"


def _claims(lanes: _Lanes | None, executions: str, *, is_one: bool) -> str:
    if lanes is None:
        return "false"
    types, queues = lanes
    if not types or queues == 0:
        return "g.may_claim"  # a worker that serves no lane has nothing more urgent
    listed = _TYPES.format(types=_each(types, "type"))
    if queues is not None:
        listed += _QUEUES.format(queues=_each(queues, "queue"))
    least, own = (
        _OUTRANKED.format(
            executions=executions,
            lanes=listed,
            on_queue="" if queues is None else _ON_QUEUE,
            than=than,
        )
        for than in ("%(least)b::int", "g.priority")
    )
    return (_CLAIMS_OF_ONE if is_one else _CLAIMS).format(least=least, own=own)


def _each(count: int, name: str) -> str:
    return ", ".join(f"(%({name}_{number})b::text)" for number in range(count))
