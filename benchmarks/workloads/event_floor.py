"""W9b, the floors: an event and what it releases, by bare psycopg on the same tables."""

from __future__ import annotations

from benchmarks.measures import Figures
from benchmarks.scale import Scale
from benchmarks.workloads import decision_floor
from benchmarks.workloads.decision_floor import ReleaseFloor

# Each waits for an event whose key is the id of its wait.
_WAITING = """
WITH w AS (
    INSERT INTO geneva_drive_workflows (type, state, open_waits, created_at, updated_at)
    VALUES ('Floor', 'ready', 1, now(), now()) RETURNING id
), e AS (
    INSERT INTO geneva_drive_step_executions (workflow_id, type, signature, step_name, node_id,
        slot, attempt_number, state, queue, priority, claimable, recoveries, scheduled_for,
        created_at, started_at)
    SELECT id, 'Floor', 'x', 'first', 'first', 'chain', 1, 'waiting', 'default', 0, false, 0,
        now(), now(), now()
    FROM w RETURNING id, workflow_id
), a AS (
    INSERT INTO geneva_drive_event_waits (workflow_id, execution_id, step_name, state, types,
        awaited_key, is_all, has_match, has_looked, opened_at)
    SELECT workflow_id, id, 'first', 'open', '["paid"]', 'own', false, false, true, now()
    FROM e RETURNING id, workflow_id, execution_id
), l AS (
    INSERT INTO geneva_drive_event_listeners (pattern, awaited_key, wait_id, workflow_id)
    SELECT 'paid', id::text, id, workflow_id FROM a
)
SELECT id, workflow_id, execution_id FROM a
"""
# No less than what an event has to write that releases a workflow: itself, the receipt, the wait,
# what listens, the execution, the workflow and an entry of its history, under the workflow's lock,
# and the notice that names the execution.
_PUBLISH = """
WITH event AS (
    INSERT INTO geneva_drive_events (source, event_id, type, event_key, payload, published_at,
        expires_at, undelivered_at)
    VALUES ('floor', %(request)s::text, 'paid', %(request)s::text, '{}', now(),
        now() + interval '7 days', now())
    RETURNING id
), heard AS MATERIALIZED (
    SELECT event.id AS event_id, a.id AS wait_id, a.workflow_id, a.execution_id
    FROM event CROSS JOIN geneva_drive_event_listeners l
    JOIN geneva_drive_event_waits a ON a.id = l.wait_id
    JOIN geneva_drive_workflows w ON w.id = a.workflow_id
    WHERE l.pattern = 'paid' AND l.awaited_key = %(request)s::text
      AND a.state = 'open' AND w.state = 'ready'
    FOR UPDATE OF w
), closed AS (
    UPDATE geneva_drive_event_waits a SET state = 'heard' FROM heard WHERE a.id = heard.wait_id
), silenced AS (
    DELETE FROM geneva_drive_event_listeners l USING heard WHERE l.wait_id = heard.wait_id
), released AS (
    UPDATE geneva_drive_step_executions e SET state = 'scheduled', claimable = true
    FROM heard WHERE e.id = heard.execution_id AND e.state = 'waiting'
), moved AS (
    UPDATE geneva_drive_workflows w SET open_waits = 0, updated_at = now()
    FROM heard WHERE w.id = heard.workflow_id
), received AS (
    INSERT INTO geneva_drive_event_receipts (workflow_id, event_id, wait_id, place, at)
    SELECT workflow_id, event_id, wait_id, 0, now() FROM heard
), resumed AS (
    INSERT INTO geneva_drive_resume_requests (workflow_id, kind, requested_at, executed_at)
    SELECT workflow_id, 'event', now(), now() FROM heard
)
SELECT pg_notify('floor', execution_id::text) FROM heard
"""
# A wait may have begun at the same moment: it is looked for once the event is committed. The mark
# need not survive a crash.
_MARK = """
UPDATE geneva_drive_events SET undelivered_at = NULL
WHERE source = 'floor' AND event_id = %(request)s::text
  AND NOT EXISTS (
      SELECT 1 FROM geneva_drive_event_listeners
      WHERE pattern = 'paid' AND awaited_key = %(request)s::text
  )
  AND set_config('synchronous_commit', 'off', true) = 'off'
"""
_READ = """
SELECT v.* FROM geneva_drive_step_executions e
JOIN geneva_drive_event_receipts r ON r.workflow_id = e.workflow_id
JOIN geneva_drive_events v ON v.id = r.event_id
WHERE e.id = ANY(%s)
"""
EVENTS = ReleaseFloor(workload="W9b", stand=_WAITING, release=_PUBLISH, settle=_MARK, read=_READ)


def measure(scale: Scale) -> Figures:
    """Give the milliseconds of single events, and of some that are published at once."""
    yield from decision_floor.measure(scale, EVENTS)
