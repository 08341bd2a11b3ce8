"""The search for stale workflows reads what is due or runs, and none of thousands of sleepers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, text

import geneva_drive as gd
from geneva_drive.storage.statements.stale_executions import QuietExecution, StaleExecutions
from tests.storage.plans import noted, plan
from tests.storage.rows import NOW, Rows

TABLES = ("geneva_drive_step_executions", "geneva_drive_workflows")
# Reading all rows of a table, in the words of each database.
NAMES = f"({'|'.join(TABLES)})"
READS_ALL = re.compile(rf"Seq Scan on {NAMES}|SCAN {NAMES}\b(?! USING)|'{NAMES}', '(ALL|index)'")
RUNNING = {"state": "in_progress", "worker_id": "w", "claim_token": "t", "started_at": NOW}
AFTER = NOW + timedelta(hours=1)

Search = Callable[[StaleExecutions, Connection], object]


@pytest.fixture
def due_and_running(geneva: gd.Drive, rows: Rows, database: str) -> list[Any]:
    """A due and a running execution beside thousands of sleepers."""
    rows.crowd(doublings=12, type="Signup", claimable=False, wakes_at=AFTER)
    due, running = rows.workflow(), rows.workflow()
    rows.execution(due, claimable=True)
    rows.execution(running, **RUNNING)
    with geneva.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if database == "mysql":
            connection.execute(text(f"ANALYZE TABLE {', '.join(TABLES)}"))
        else:
            connection.execute(text("ANALYZE"))
    return [due, running]


def _found(found: list[QuietExecution]) -> list[Any]:
    return [one.workflow_id for one in found]


def test_what_is_due_and_what_runs_is_found(geneva: gd.Drive, due_and_running: list[Any]) -> None:
    due, running = due_and_running
    stale = geneva.store.stale_executions

    with geneva.store.reading() as connection:
        assert stale.due_types(connection, ["Signup", "Other"]) == ["Signup"]
        assert _found(stale.due_since(connection, "Signup", AFTER, 10)) == [due]
        assert _found(stale.running_since(connection, ["Signup"], AFTER)) == [running]
        assert _found(stale.running_in(connection, [due, running])) == [running]


@pytest.mark.parametrize(
    "search",
    [
        lambda stale, connection: stale.due_types(connection, ["Signup"]),
        lambda stale, connection: stale.due_since(connection, "Signup", AFTER, 10),
        lambda stale, connection: stale.running_since(connection, ["Signup"], AFTER),
    ],
    ids=["types", "due", "running"],
)
def test_no_sleeper_is_read(geneva: gd.Drive, due_and_running: list[Any], search: Search) -> None:
    with noted(geneva.engine) as statements, geneva.store.reading() as connection:
        search(geneva.store.stale_executions, connection)

    [look] = [each for each in statements if each[0].lstrip("(").startswith("SELECT")]
    found = plan(geneva, *look)
    assert not READS_ALL.search(found), found
