from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool, QueuePool, SingletonThreadPool, StaticPool

import geneva_drive as gd
from geneva_drive.storage.dialects.health_check import Check, Finding, ok, problem, reminder
from geneva_drive.storage.health.connections import connections
from tests.storage.health.findings import findings

WAY_OUT = "Set create_engine(..., pool_size=12), or more."


def _found(most: int) -> str:
    return (
        f"The engine's pool allows {most} at once. A worker needs 4, and one more for each step "
        f"that uses the database: 12 at a concurrency of 8."
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(
            {"pool_size": 1, "max_overflow": 2},
            problem("connections", _found(3), WAY_OUT),
            id="fewer-than-a-worker-needs",
        ),
        pytest.param(
            {"pool_size": 1, "max_overflow": 3},
            reminder("connections", _found(4), WAY_OUT),
            id="none-for-steps",
        ),
        pytest.param(
            {"pool_size": 11, "max_overflow": 0},
            reminder("connections", _found(11), WAY_OUT),
            id="too-few-for-the-usual-concurrency",
        ),
        pytest.param(
            {},
            ok("connections", "The engine's pool allows 15 at once."),
            id="as-sqlalchemy-makes-it",
        ),
        pytest.param(
            {"pool_size": 0, "max_overflow": 0},
            ok("connections", "The engine opens as many as are needed."),
            id="without-a-limit",
        ),
    ],
)
def test_a_pool_is_compared_with_what_a_worker_needs(
    options: dict[str, Any], expected: Check
) -> None:
    engine = create_engine("sqlite:///unopened.db", poolclass=QueuePool, **options)

    assert connections(engine) == expected


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (
            NullPool,
            reminder(
                "connections",
                "The engine's NullPool opens a connection for each transaction.",
                "Leave out poolclass=NullPool, unless a pooler such as PgBouncer is used.",
            ),
        ),
        (
            StaticPool,
            problem(
                "connections",
                "The engine's StaticPool gives all threads the same connection.",
                "Leave out poolclass=StaticPool.",
            ),
        ),
        (
            SingletonThreadPool,
            ok("connections", "They are kept by the engine's SingletonThreadPool."),
        ),
    ],
)
def test_pools_of_other_kinds_are_told_by_name(pool: Any, expected: Check) -> None:
    assert connections(create_engine("sqlite:///unopened.db", poolclass=pool)) == expected


def test_the_engine_that_a_drive_makes_has_no_limit(geneva: gd.Drive) -> None:
    [check] = findings(geneva, "connections")

    assert (check.finding, check.found) == (
        Finding.OK,
        "The engine opens as many as are needed.",
    )
