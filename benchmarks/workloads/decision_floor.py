"""W9a, the floors: the same rows written by bare psycopg, until the next step is claimed."""

from __future__ import annotations

import multiprocessing
import queue
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection

import psycopg

import geneva_drive as gd
from benchmarks import places
from benchmarks.drivers.decisions import REST
from benchmarks.measures import Figures
from benchmarks.percentiles import percentile
from benchmarks.scale import Scale
from benchmarks.workloads.decision import CALLERS
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
# The same for a group: what a worker claims, reads and completes in one statement each.
_CLAIM_MANY = _CLAIM.replace("id = %s", "id = ANY(%s)")
_READ_MANY = "SELECT * FROM geneva_drive_approvals WHERE execution_id = ANY(%s)"
_FUSED_MANY = FUSED.replace("e.id = %(id)s", "e.id = ANY(%(ids)s)")

Request = dict[str, int]  # the ids of a request, its workflow and its execution


def measure(scale: Scale) -> Figures:
    """Give the milliseconds of single decisions, and of some that are made at once."""
    yield from _latencies(scale.decisions)
    yield from _bursts(scale)


def _latencies(samples: int) -> Figures:
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


def _stand(client: psycopg.Connection, count: int) -> list[Request]:
    """Insert as many workflows that wait for a decision."""
    rows = [client.execute(_WAITING).fetchone() for _ in range(count)]
    return [
        dict(zip(("request", "workflow", "execution"), row, strict=True))
        for row in rows
        if row is not None
    ]


def _decisions(
    client: psycopg.Connection,
    listener: psycopg.Connection,
    worker: psycopg.Connection,
    samples: int,
) -> list[float]:
    waiting = {request["execution"]: request for request in _stand(client, samples)}
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


def _bursts(scale: Scale) -> Figures:
    """Give the milliseconds from the first of some decisions at once to the last next step.

    As many callers decide as in ours, each in its own transaction; another process claims and
    completes what it hears of, in groups.
    """
    with _tables() as url, ExitStack() as stack:
        callers: queue.SimpleQueue[psycopg.Connection] = queue.SimpleQueue()
        for _ in range(CALLERS):
            callers.put(stack.enter_context(psycopg.connect(url, autocommit=True)))
        client = stack.enter_context(psycopg.connect(url, autocommit=True))
        bursts = scale.bursts + 1  # the first is a warm-up
        worker = stack.enter_context(_at_work(url, scale.decided_at_once, bursts))
        waiting = _stand(client, scale.waiting - scale.decided_at_once)
        for number in range(bursts):
            waiting += _stand(client, scale.decided_at_once)
            decided, waiting = waiting[: scale.decided_at_once], waiting[scale.decided_at_once :]
            seconds = _burst(callers, decided, worker)
            if number:
                yield "W9a.many", seconds * 1_000


def _burst(
    callers: queue.SimpleQueue[psycopg.Connection], decided: Sequence[Request], worker: Connection
) -> float:
    def decide(request: Request) -> None:
        connection = callers.get()
        connection.execute(_DECIDE, request, prepare=True)
        callers.put(connection)

    time.sleep(REST)
    with ThreadPoolExecutor(CALLERS) as pool:
        called_at = time.time()
        list(pool.map(decide, decided))
        return _received(worker) - called_at


@contextmanager
def _at_work(url: str, decided: int, bursts: int) -> Iterator[Connection]:
    """Run the worker as a process of its own; what it sends are the ends of bursts."""
    fresh = multiprocessing.get_context("spawn")  # a fork would share the open connections
    ours, its = fresh.Pipe()
    process = fresh.Process(target=_work, args=(url, decided, bursts, its), daemon=True)
    process.start()
    try:
        _received(ours)
        yield ours
    finally:
        process.terminate()
        process.join()


def _work(url: str, decided: int, bursts: int, client: Connection) -> None:
    with (
        psycopg.connect(url, autocommit=True) as listener,
        psycopg.connect(url, autocommit=True) as worker,
    ):
        listener.execute("LISTEN floor")
        client.send(time.time())
        for _ in range(bursts):
            heard = 0
            while heard < decided:
                # All that has arrived, and at least one: these are a group.
                group = [int(notice.payload) for notice in listener.notifies(stop_after=1)]
                heard += len(group)
                worker.execute(_CLAIM_MANY, [group], prepare=True)
                worker.execute(_READ_MANY, [group], prepare=True).fetchall()
                values = {"ids": group, "name": "second"}
                worker.execute(_FUSED_MANY, values, prepare=True).fetchall()
            client.send(time.time())


def _received(worker: Connection) -> float:
    if not worker.poll(_TIME_LIMIT):
        raise TimeoutError(f"The worker was silent for {_TIME_LIMIT:.0f} s.")
    moment: float = worker.recv()
    return moment
