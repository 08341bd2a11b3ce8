"""The floors: what PostgreSQL takes for the same writes through its bare driver."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

import geneva_drive as gd
from benchmarks import places
from benchmarks.measures import Figures
from benchmarks.percentiles import percentile

STEPS = 100

_TABLES = """
CREATE TABLE floor_rows (id bigserial PRIMARY KEY, payload text NOT NULL);
"""
_INSERT = "INSERT INTO floor_rows (payload) VALUES (%s)"
_INSERT_MANY = "INSERT INTO floor_rows (payload) SELECT unnest(%s::text[])"
# On the tables of the library, as their keys and indexes are part of the price: no less than what
# completing a step has to do, in one statement, by a program that knows nothing of the library.
_WORKFLOW = (
    "INSERT INTO geneva_drive_workflows (type, state, created_at, updated_at) "
    "VALUES ('Floor', 'ready', now(), now()) RETURNING id"
)
_FIRST = """
INSERT INTO geneva_drive_step_executions (workflow_id, type, signature, step_name, node_id, slot,
    attempt_number, state, queue, priority, claimable, worker_id, claim_token, recoveries,
    scheduled_for, created_at, started_at)
VALUES (%s, 'Floor', 'x', 'first', 'first', 'chain', 1, 'in_progress', 'default', 0, false, 'floor',
    'token', 0, now(), now(), now())
RETURNING id
"""
FUSED = """
WITH ok AS (
    SELECT e.id, e.workflow_id
    FROM geneva_drive_step_executions e JOIN geneva_drive_workflows w ON w.id = e.workflow_id
    WHERE e.id = %(id)s AND e.state = 'in_progress' AND e.claim_token = 'token'
      AND w.state = 'ready' AND w.requested IS NULL
    ORDER BY w.id FOR UPDATE OF e, w
), done AS (
    UPDATE geneva_drive_step_executions e
    SET state = 'completed', outcome = 'success', claim_token = NULL, finished_at = now()
    FROM ok WHERE e.id = ok.id RETURNING e.workflow_id
), moved AS (
    UPDATE geneva_drive_workflows w
    SET previous_step_name = next_step_name, next_step_name = %(name)s, updated_at = now()
    FROM done WHERE w.id = done.workflow_id RETURNING w.id
)
INSERT INTO geneva_drive_step_executions (workflow_id, type, signature, step_name, node_id, slot,
    attempt_number, state, queue, priority, claimable, worker_id, claim_token, recoveries,
    scheduled_for, created_at, started_at)
SELECT id, 'Floor', 'x', %(name)s, %(name)s, 'chain', 1, 'in_progress', 'default', 0, false,
    'floor', 'token', 0, now(), now(), now()
FROM moved RETURNING id
"""
_CLAIM = "UPDATE floor_rows SET payload = 'taken' WHERE id = %s"
_INSERT_AND_NOTIFY = (
    "WITH written AS (INSERT INTO floor_rows (payload) VALUES ('x') RETURNING id) "
    "SELECT pg_notify('floor', id::text) FROM written"
)


@contextmanager
def _database() -> Iterator[tuple[str, psycopg.Connection]]:
    with places.fresh("postgresql") as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_TABLES)
        yield url, connection


def rows_per_second(commits: int) -> dict[str, float]:
    """Give the rate of inserted rows for three sizes of a commit."""
    with _database() as (_, connection):
        return {
            "F.one": _rate(1, commits, lambda: connection.execute(_INSERT, ["x"], prepare=True)),
            "F.hundred": _batched(connection, 100, max(10, commits // 20)),
            "F.thousand": _batched(connection, 1_000, max(5, commits // 100)),
        }


def _batched(connection: psycopg.Connection, size: int, commits: int) -> float:
    rows = ["x"] * size
    return _rate(size, commits, lambda: connection.execute(_INSERT_MANY, [rows], prepare=True))


def _rate(rows: int, commits: int, commit: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(commits):
        commit()
    return rows * commits / (time.perf_counter() - began)


def fused_steps(chains: int) -> Figures:
    """Give milliseconds per step of chains, where one statement completes and inserts."""
    with _database() as (url, connection):
        gd.Drive(url).migrate()
        _chain(connection)
        for _ in range(chains):
            yield "W2.step", _chain(connection)


def _chain(connection: psycopg.Connection) -> float:
    workflow = connection.execute(_WORKFLOW).fetchone()
    row = connection.execute(_FIRST, workflow).fetchone()
    began = time.perf_counter()
    for number in range(STEPS):
        assert row is not None
        values = {"id": row[0], "name": f"step{number}"}
        row = connection.execute(FUSED, values, prepare=True).fetchone()
    return (time.perf_counter() - began) * 1_000 / STEPS


def notified(samples: int) -> dict[str, float]:
    """Give the milliseconds from a durable insert with NOTIFY to the listener that hears it.

    And to the moment when that one has written, durably as well, that it takes what was inserted.
    """
    with (
        _database() as (url, connection),
        psycopg.connect(url, autocommit=True) as listener,
        psycopg.connect(url, autocommit=True) as claimer,
    ):
        listener.execute("LISTEN floor")
        taken = threading.Semaphore(0)
        heard_at: list[float] = []
        taken_at: list[float] = []

        def listen() -> None:
            for notice in listener.notifies(stop_after=samples):
                heard_at.append(time.perf_counter())
                claimer.execute(_CLAIM, [int(notice.payload)], prepare=True)
                taken_at.append(time.perf_counter())
                taken.release()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        called: list[float] = []
        for _ in range(samples):
            time.sleep(random.uniform(0.02, 0.06))
            called.append(time.perf_counter())
            connection.execute(_INSERT_AND_NOTIFY, prepare=True)
            if not taken.acquire(timeout=10):
                raise TimeoutError("A notification did not arrive within 10 s.")
        thread.join(10)
    heard, claimed = (
        [(at - call) * 1_000 for call, at in zip(called, moments, strict=True)]
        for moments in (heard_at, taken_at)
    )
    return {
        "W3.p50": percentile(heard, 0.5),
        "W3.p99": percentile(heard, 0.99),
        "W3.claimed": percentile(claimed, 0.5),
    }
