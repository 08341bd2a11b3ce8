"""The floors: what PostgreSQL takes for the same writes through its bare driver."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import psycopg

from benchmarks import places
from benchmarks.percentiles import percentile

STEPS = 100

_TABLES = """
CREATE TABLE floor_rows (id bigserial PRIMARY KEY, payload text NOT NULL);
CREATE TABLE floor_steps (
    id bigserial PRIMARY KEY,
    workflow_id bigint NOT NULL,
    position integer NOT NULL,
    state text NOT NULL,
    finished_at timestamptz,
    UNIQUE (workflow_id, position)
);
"""
_INSERT = "INSERT INTO floor_rows (payload) VALUES (%s)"
_INSERT_MANY = "INSERT INTO floor_rows (payload) SELECT unnest(%s::text[])"
_FIRST = (
    "INSERT INTO floor_steps (workflow_id, position, state) VALUES (%s, 0, 'in_progress') "
    "RETURNING id"
)
_FUSED = """
WITH done AS (
    UPDATE floor_steps SET state = 'completed', finished_at = now()
    WHERE id = %s AND state = 'in_progress' RETURNING workflow_id, position
)
INSERT INTO floor_steps (workflow_id, position, state)
SELECT workflow_id, position + 1, 'in_progress' FROM done RETURNING id
"""
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


def fused_step(chains: int) -> float:
    """Give milliseconds per step of a chain, where one statement completes and inserts."""
    with _database() as (_, connection):
        _chain(connection, 0)
        return median(_chain(connection, number) for number in range(1, chains + 1))


def _chain(connection: psycopg.Connection, workflow_id: int) -> float:
    row = connection.execute(_FIRST, [workflow_id]).fetchone()
    began = time.perf_counter()
    for _ in range(STEPS):
        assert row is not None
        row = connection.execute(_FUSED, [row[0]], prepare=True).fetchone()
    return (time.perf_counter() - began) * 1_000 / STEPS


def notified(samples: int) -> dict[str, float]:
    """Give the milliseconds from a durable insert with NOTIFY to the listener that hears it."""
    with _database() as (url, connection), psycopg.connect(url, autocommit=True) as listener:
        listener.execute("LISTEN floor")
        heard = threading.Semaphore(0)
        moments: list[float] = []

        def listen() -> None:
            for _ in listener.notifies(stop_after=samples):
                moments.append(time.perf_counter())
                heard.release()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        called: list[float] = []
        for _ in range(samples):
            time.sleep(random.uniform(0.02, 0.06))
            called.append(time.perf_counter())
            connection.execute(_INSERT_AND_NOTIFY, prepare=True)
            if not heard.acquire(timeout=10):
                raise TimeoutError("A notification did not arrive within 10 s.")
        thread.join(10)
    found = [(at - call) * 1_000 for call, at in zip(called, moments, strict=True)]
    return {"W3.p50": percentile(found, 0.5), "W3.p99": percentile(found, 0.99)}
