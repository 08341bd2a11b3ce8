"""The fast commit on PostgreSQL: one statement, which locks before it looks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from geneva_drive.storage import keys
from geneva_drive.storage.completions import Batch, Completed, Completion
from geneva_drive.storage.keys import KeyType
from geneva_drive.storage.records import Key
from geneva_drive.storage.tables import Tables

# Without the locking part first, it would overlook a request made at the same moment, and could
# deadlock with commands. A row ends before its successor is inserted, as each part takes its rows
# from the one before: the index of "one active per workflow" is never violated.
_STATEMENT = """
WITH given AS (
    SELECT * FROM unnest(
        %(execution_ids)s::{key}[], %(workflow_ids)s::{key}[], %(tokens)s::text[],
        %(step_names)s::text[], %(started)s::timestamptz[], %(following_ids)s::{key}[],
        %(names)s::text[], %(signatures)s::text[], %(queues)s::text[], %(priorities)s::int[],
        %(times)s::timestamptz[], %(may_claim)s::bool[], %(seen)s::timestamptz[]
    ) AS g(execution_id, workflow_id, token, step_name, started_at, following_id,
           name, signature, queue, priority, scheduled_for, may_claim, seen_at)
), top AS (
    SELECT priority FROM {executions}
    WHERE claimable AND type = ANY(%(served_types)s::text[])
      AND (%(served_queues)s::text[] IS NULL OR queue = ANY(%(served_queues)s::text[]))
    ORDER BY priority DESC, id LIMIT 1
), ok AS (
    SELECT g.*, w.type,
           g.may_claim AND g.scheduled_for <= %(now)s
           AND (%(served_queues)s::text[] IS NULL OR g.queue = ANY(%(served_queues)s::text[]))
           AND g.priority >= COALESCE((SELECT priority FROM top), g.priority) AS claims
    FROM given g
    JOIN {workflows} w ON w.id = g.workflow_id
    JOIN {executions} e ON e.id = g.execution_id
    WHERE e.state = 'in_progress' AND e.claim_token = g.token
      AND w.state = 'ready' AND w.requested IS NULL AND w.updated_at = g.seen_at
    ORDER BY w.id
    FOR UPDATE OF w, e
), done AS (
    UPDATE {executions} e
    SET state = 'completed', outcome = 'success', claim_token = NULL, finished_at = %(now)s
    FROM ok WHERE e.id = ok.execution_id
    RETURNING ok.*
), moved AS (
    UPDATE {workflows} w
    SET state = CASE WHEN done.name IS NULL THEN 'finished' ELSE 'ready' END,
        finished_at = CASE WHEN done.name IS NULL THEN %(now)s END,
        next_step_name = done.name, previous_step_name = done.step_name,
        started_at = COALESCE(w.started_at, done.started_at), updated_at = %(now)s
    FROM done WHERE w.id = done.workflow_id
    RETURNING done.*
), added AS (
    INSERT INTO {executions} ({id_column} workflow_id, type, signature, step_name, node_id, slot,
        attempt_number, state, queue, priority, claimable, wakes_at, worker_id, claim_token,
        recoveries, scheduled_for, created_at, started_at)
    SELECT {id_value} m.workflow_id, m.type, m.signature, m.name, m.name, 'chain',
        COALESCE((SELECT max(p.attempt_number) FROM {executions} p
                  WHERE p.workflow_id = m.workflow_id AND p.node_id = m.name), 0) + 1,
        CASE WHEN m.claims THEN 'in_progress' ELSE 'scheduled' END, m.queue, m.priority,
        NOT m.claims AND m.scheduled_for <= %(now)s,
        CASE WHEN m.scheduled_for > %(now)s THEN m.scheduled_for END,
        CASE WHEN m.claims THEN %(worker_id)s END, CASE WHEN m.claims THEN %(token)s END,
        0, m.scheduled_for, %(now)s, CASE WHEN m.claims THEN %(now)s END::timestamptz
    FROM moved m WHERE m.name IS NOT NULL
    RETURNING id, workflow_id, attempt_number, claim_token
)
SELECT ok.execution_id, added.id, added.attempt_number, added.claim_token IS NOT NULL
FROM ok LEFT JOIN added ON added.workflow_id = ok.workflow_id
"""


def _statement_for(tables: Tables) -> str:
    is_uuid = tables.key_type is KeyType.UUID
    return _STATEMENT.format(
        key="uuid" if is_uuid else "bigint",
        executions=tables.step_executions.name,
        workflows=tables.workflows.name,
        id_column="id," if is_uuid else "",
        id_value="m.following_id," if is_uuid else "",
    )


def complete(connection: Connection, tables: Tables, batch: Batch) -> dict[Key, Completed]:
    """Write the batch; give what was written, by the id of the execution that it completed."""
    claimant = batch.claimant
    values = {
        **_columns(tables, batch.completions),
        "served_types": list(claimant.types) if claimant else [],
        "served_queues": None
        if claimant is None or claimant.queues is None
        else list(claimant.queues),
        "worker_id": claimant.worker_id if claimant else None,
        "token": claimant.claim_token if claimant else None,
        "now": batch.now,
    }
    rows = connection.exec_driver_sql(_statement_for(tables), values)
    return {
        row[0]: Completed(following_id=row[1], attempt_number=row[2], is_claimed=bool(row[3]))
        for row in rows
    }


def _columns(tables: Tables, completions: Any) -> dict[str, list[Any]]:
    listed: list[Completion] = list(completions)
    followings = [one.following or {} for one in listed]
    is_uuid = tables.key_type is KeyType.UUID
    return {
        "execution_ids": [one.execution.id for one in listed],
        "workflow_ids": [one.workflow.id for one in listed],
        "tokens": [one.execution.claim_token for one in listed],
        "step_names": [one.execution.step_name for one in listed],
        "started": [one.execution.started_at for one in listed],
        "following_ids": [keys.new_uuid() if is_uuid else None for _ in listed],
        "names": [following.get("step_name") for following in followings],
        "signatures": [following.get("signature") for following in followings],
        "queues": [following.get("queue") for following in followings],
        "priorities": [following.get("priority") for following in followings],
        "times": [following.get("scheduled_for") for following in followings],
        "may_claim": [one.may_claim for one in listed],
        "seen": [one.workflow.updated_at for one in listed],
    }
