"""W9a and W9b, the floors: the same rows written by bare psycopg, until the next step is claimed.

Here are the statements of a decision, and how they are measured; those of an event are in
`event_floor`.
"""

from __future__ import annotations

import multiprocessing
import queue
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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
# The same for a group: what a worker claims and completes in one statement each.
_CLAIM_MANY = _CLAIM.replace("id = %s", "id = ANY(%s)")
_FUSED_MANY = FUSED.replace("e.id = %(id)s", "e.id = ANY(%(ids)s)")

Request = dict[str, int]  # the ids of a request, its workflow and its execution


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFloor:
    """The statements by which workflows wait, and by which they are released."""

    workload: str
    stand: str  # inserts a workflow that waits; returns a `Request`
    release: str  # with a `Request`; notifies of the execution
    settle: str | None  # what the caller writes after that, while the worker goes on
    read: str  # what the worker reads for executions


DECISIONS = ReleaseFloor(
    workload="W9a",
    stand=_WAITING,
    release=_DECIDE,
    settle=None,
    read="SELECT * FROM geneva_drive_approvals WHERE execution_id = ANY(%s)",
)


def measure(scale: Scale, floor: ReleaseFloor = DECISIONS) -> Figures:
    """Give the milliseconds of single releases, and of some that are made at once."""
    yield from _latencies(floor, scale.decisions)
    yield from _bursts(floor, scale)


def _latencies(floor: ReleaseFloor, samples: int) -> Figures:
    """Give the milliseconds from a release until the next step is inserted and claimed."""
    with (
        _tables() as url,
        psycopg.connect(url, autocommit=True) as client,
        psycopg.connect(url, autocommit=True) as listener,
        psycopg.connect(url, autocommit=True) as worker,
    ):
        found = _releases(floor, client, listener, worker, samples + _WARM_UP)[_WARM_UP:]
    yield f"{floor.workload}.p50", percentile(found, 0.5)
    yield f"{floor.workload}.p99", percentile(found, 0.99)


@contextmanager
def _tables() -> Iterator[str]:
    with places.fresh("postgresql") as url:
        gd.Drive(url).migrate()
        yield url


def _stand(floor: ReleaseFloor, client: psycopg.Connection, count: int) -> list[Request]:
    """Insert as many workflows that wait."""
    rows = [client.execute(floor.stand).fetchone() for _ in range(count)]
    return [
        dict(zip(("request", "workflow", "execution"), row, strict=True))
        for row in rows
        if row is not None
    ]


def _release(floor: ReleaseFloor, client: psycopg.Connection, request: Request) -> None:
    client.execute(floor.release, request, prepare=True)
    if floor.settle is not None:
        client.execute(floor.settle, request, prepare=True)


def _releases(
    floor: ReleaseFloor,
    client: psycopg.Connection,
    listener: psycopg.Connection,
    worker: psycopg.Connection,
    samples: int,
) -> list[float]:
    waiting = _stand(floor, client, samples)
    listener.execute("LISTEN floor")
    continued = threading.Semaphore(0)
    continued_at: list[float] = []

    def work() -> None:
        for notice in listener.notifies(stop_after=samples):
            execution = int(notice.payload)
            worker.execute(_CLAIM, [execution], prepare=True)
            worker.execute(floor.read, [[execution]], prepare=True).fetchall()
            worker.execute(FUSED, {"id": execution, "name": "second"}, prepare=True).fetchone()
            continued_at.append(time.perf_counter())
            continued.release()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    called_at: list[float] = []
    for request in waiting:
        time.sleep(random.uniform(0.02, 0.06))
        called_at.append(time.perf_counter())
        _release(floor, client, request)
        if not continued.acquire(timeout=_TIME_LIMIT):
            raise TimeoutError(f"A release had no effect within {_TIME_LIMIT:.0f} s.")
    thread.join(_TIME_LIMIT)
    return [(at - call) * 1_000 for call, at in zip(called_at, continued_at, strict=True)]


def _bursts(floor: ReleaseFloor, scale: Scale) -> Figures:
    """Give the milliseconds from the first of some releases at once to the last next step.

    As many callers release as in ours, each in its own transaction; another process claims and
    completes what it hears of, in groups.
    """
    with _tables() as url, ExitStack() as stack:
        callers: queue.SimpleQueue[psycopg.Connection] = queue.SimpleQueue()
        for _ in range(CALLERS):
            callers.put(stack.enter_context(psycopg.connect(url, autocommit=True)))
        client = stack.enter_context(psycopg.connect(url, autocommit=True))
        bursts = scale.bursts + 1  # the first is a warm-up
        worker = stack.enter_context(_at_work(url, floor, scale.decided_at_once, bursts))
        waiting = _stand(floor, client, scale.waiting - scale.decided_at_once)
        for number in range(bursts):
            waiting += _stand(floor, client, scale.decided_at_once)
            decided, waiting = waiting[: scale.decided_at_once], waiting[scale.decided_at_once :]
            seconds = _burst(floor, callers, decided, worker)
            if number:
                yield f"{floor.workload}.many", seconds * 1_000


def _burst(
    floor: ReleaseFloor,
    callers: queue.SimpleQueue[psycopg.Connection],
    decided: Sequence[Request],
    worker: Connection,
) -> float:
    def decide(request: Request) -> None:
        connection = callers.get()
        _release(floor, connection, request)
        callers.put(connection)

    time.sleep(REST)
    with ThreadPoolExecutor(CALLERS) as pool:
        called_at = time.time()
        list(pool.map(decide, decided))
        return _received(worker) - called_at


@contextmanager
def _at_work(url: str, floor: ReleaseFloor, decided: int, bursts: int) -> Iterator[Connection]:
    """Run the worker as a process of its own; what it sends are the ends of bursts."""
    fresh = multiprocessing.get_context("spawn")  # a fork would share the open connections
    ours, its = fresh.Pipe()
    process = fresh.Process(target=_work, args=(url, floor.read, decided, bursts, its), daemon=True)
    process.start()
    try:
        _received(ours)
        yield ours
    finally:
        process.terminate()
        process.join()


def _work(url: str, read: str, decided: int, bursts: int, client: Connection) -> None:
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
                worker.execute(read, [group], prepare=True).fetchall()
                values = {"ids": group, "name": "second"}
                worker.execute(_FUSED_MANY, values, prepare=True).fetchall()
            client.send(time.time())


def _received(worker: Connection) -> float:
    if not worker.poll(_TIME_LIMIT):
        raise TimeoutError(f"The worker was silent for {_TIME_LIMIT:.0f} s.")
    moment: float = worker.recv()
    return moment
