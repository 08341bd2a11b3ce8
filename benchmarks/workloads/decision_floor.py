"""W9a, the floor: the same rows written by bare psycopg, until the next step is claimed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

import geneva_drive as gd
from benchmarks import places
from benchmarks.measures import Figures
from benchmarks.percentiles import percentile
from benchmarks.workloads.floors import FUSED

_WARM_UP = 10
_TIME_LIMIT = 10.0
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
)
INSERT INTO geneva_drive_approvals (workflow_id, execution_id, step_name, state, role, choices,
    quorum, reject_quorum, deny_self, escalates_on_timeout, escalation_count, requested_at)
SELECT workflow_id, id, 'first', 'pending', 'manager', '[]', 1, 1, false, false, 0, now()
FROM e RETURNING id, workflow_id, execution_id
"""
# No less than what a decision has to write: the request, the vote, the execution, the workflow and
# two entries of its history, under the workflow's lock, and the notice that names the execution.
_DECIDE = """
WITH w AS (
    SELECT id FROM geneva_drive_workflows WHERE id = %(workflow)s AND state = 'ready' FOR UPDATE
), request AS (
    UPDATE geneva_drive_approvals a SET state = 'approved', decided_at = now(), decided_by = 'x',
        choice = 'approve'
    FROM w WHERE a.id = %(request)s AND a.state = 'pending' RETURNING a.workflow_id
), vote AS (
    INSERT INTO geneva_drive_approval_people (approval_id, person, choice, voted_at)
    SELECT %(request)s, 'x', 'approve', now() FROM request
), released AS (
    UPDATE geneva_drive_step_executions e SET state = 'scheduled', claimable = true
    FROM request WHERE e.id = %(execution)s AND e.state = 'waiting'
), moved AS (
    UPDATE geneva_drive_workflows SET open_waits = 0, updated_at = now()
    FROM request WHERE id = request.workflow_id
), audit AS (
    INSERT INTO geneva_drive_audit_entries (workflow_id, command, actor, at)
    SELECT workflow_id, 'approve', 'x', now() FROM request
), resumed AS (
    INSERT INTO geneva_drive_resume_requests (workflow_id, kind, requested_at, executed_at)
    SELECT workflow_id, 'approval', now(), now() FROM request
)
SELECT pg_notify('floor', %(execution)s::text) FROM request
"""
_CLAIM = """
UPDATE geneva_drive_step_executions SET state = 'in_progress', claimable = false,
    worker_id = 'floor', claim_token = 'token'
WHERE id = %s AND claimable
"""
_READ = "SELECT * FROM geneva_drive_approvals WHERE id = %s"


def measure(samples: int) -> Figures:
    """Give the milliseconds from a decision until the next step is inserted and claimed."""
    with (
        _tables() as url,
        psycopg.connect(url, autocommit=True) as client,
        psycopg.connect(url, autocommit=True) as listener,
        psycopg.connect(url, autocommit=True) as worker,
    ):
        found = _decisions(client, listener, worker, samples + _WARM_UP)[_WARM_UP:]
    yield "W9a.p50", percentile(found, 0.5)
    yield "W9a.p99", percentile(found, 0.99)


@contextmanager
def _tables() -> Iterator[str]:
    with places.fresh("postgresql") as url:
        gd.Drive(url).migrate()
        yield url


def _decisions(
    client: psycopg.Connection,
    listener: psycopg.Connection,
    worker: psycopg.Connection,
    samples: int,
) -> list[float]:
    waiting: dict[int, dict[str, int]] = {}  # by execution
    for _ in range(samples):
        row = client.execute(_WAITING).fetchone()
        assert row is not None
        waiting[row[2]] = {"request": row[0], "workflow": row[1], "execution": row[2]}
    listener.execute("LISTEN floor")
    continued = threading.Semaphore(0)
    continued_at: list[float] = []

    def work() -> None:
        for notice in listener.notifies(stop_after=samples):
            execution = int(notice.payload)
            worker.execute(_CLAIM, [execution], prepare=True)
            worker.execute(_READ, [waiting[execution]["request"]], prepare=True).fetchone()
            worker.execute(FUSED, {"id": execution, "name": "second"}, prepare=True).fetchone()
            continued_at.append(time.perf_counter())
            continued.release()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    called_at: list[float] = []
    for values in waiting.values():
        time.sleep(random.uniform(0.02, 0.06))
        called_at.append(time.perf_counter())
        client.execute(_DECIDE, values, prepare=True)
        if not continued.acquire(timeout=_TIME_LIMIT):
            raise TimeoutError(f"A decision had no effect within {_TIME_LIMIT:.0f} s.")
    thread.join(_TIME_LIMIT)
    return [(at - call) * 1_000 for call, at in zip(called_at, continued_at, strict=True)]
