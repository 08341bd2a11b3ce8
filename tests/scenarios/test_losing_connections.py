"""The server kills every connection of the workers, again and again, under load."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

import geneva_drive as gd
from tests.scenarios.conftest import (
    StartProcess,
    assert_all_orders_are_whole,
    begin_orders,
    wait_until_finished,
)

pytestmark = pytest.mark.scenario


def _kill_connections(drive: gd.Drive) -> int:
    """End every connection to the test's database but this one; count them."""
    with drive.engine.connect() as connection:
        if drive.engine.dialect.name == "postgresql":
            return len(
                connection.execute(
                    text(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )
                ).all()
            )
        numbers = connection.scalars(
            text(
                "SELECT id FROM information_schema.processlist "
                "WHERE db = database() AND id <> connection_id()"
            )
        ).all()
        for number in numbers:
            with contextlib.suppress(OperationalError):  # it has gone by itself
                connection.execute(text(f"KILL {number}"))
        return len(numbers)


@pytest.mark.databases("postgresql", "mysql")  # SQLite has no server
def test_workers_go_on_although_their_connections_are_killed(
    geneva: gd.Drive, start: StartProcess, app: ModuleType
) -> None:
    workers = [start("worker") for _ in range(2)]
    for worker in workers:
        worker.expect("ready")

    orders: list[Any] = []
    killed = 0
    # Less often than a body with a transaction of its own is run again: on a slow machine every
    # kill may hit the same one.
    for _ in range(4):
        orders += begin_orders(geneva, app)
        killed += _kill_connections(geneva)
    wait_until_finished(geneva, len(orders))

    assert [worker.terminate() for worker in workers] == [0, 0]
    assert killed > 10, "there were no connections to kill"
    assert_all_orders_are_whole(geneva, orders)
