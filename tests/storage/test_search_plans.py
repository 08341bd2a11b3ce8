"""Sleepers cost a page nothing: each database finds what is wanted by an index."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, text

import geneva_drive as gd
from geneva_drive.states import WorkflowState
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter
from tests.storage.plans import noted, plan
from tests.storage.rows import NOW, Rows

WORKFLOWS = "geneva_drive_workflows"
EXECUTIONS = "geneva_drive_step_executions"
COUNTING = {
    "sqlite": "SELECT 1",  # it is asked for plans as it is: it counts only if it is told to
    "postgresql": f"ANALYZE {WORKFLOWS}, {EXECUTIONS}",
    "mysql": f"ANALYZE TABLE {WORKFLOWS}, {EXECUTIONS}",
}
# Reading a whole table, in the words of each database; and a table's index, in those of MySQL. The
# index of workflows that wait is a partial one: SQLite may scan it.
READS_WORKFLOWS = re.compile(
    rf"Seq Scan on {WORKFLOWS}|SCAN {WORKFLOWS}(?! USING INDEX {WORKFLOWS}_waits)"
    rf"|'{WORKFLOWS}', '(ALL|index)'"
)
READS_EXECUTIONS = re.compile(
    rf"Seq Scan on {EXECUTIONS}|SCAN {EXECUTIONS}(?! USING)|'{EXECUTIONS}', '(ALL|index)'"
    rf"|using {EXECUTIONS}_attempt"
)
# How a read of the index begins: after the last id, and not with the oldest workflow of the type.
AFTER = {
    "sqlite": re.compile(rf"{WORKFLOWS}_state \(state=\? AND type=\? AND id>\?"),
    "postgresql": re.compile(
        rf"{WORKFLOWS}_state .*\n.*state.* = .* AND \(ROW\(\S*type\S*, id\) > ROW\("
    ),
    "mysql": re.compile(
        rf"'{WORKFLOWS}', 'range', '{WORKFLOWS}_state', '{WORKFLOWS}_state', '856'"
    ),
}
BEFORE = {
    "sqlite": re.compile(rf"{WORKFLOWS}_state \(state=\? AND type=\? AND id(>\? AND id)?<\?"),
    "postgresql": re.compile(
        rf"{WORKFLOWS}_state .*\n.*state.* = .* AND \(ROW\(\S*type\S*, id\) < ROW\("
    ),
    "mysql": re.compile(
        rf"'{WORKFLOWS}', 'range', '{WORKFLOWS}_state', '{WORKFLOWS}_state', '856'"
    ),
}
BY_KEY = {
    "sqlite": f"SEARCH {WORKFLOWS} USING INTEGER PRIMARY KEY",
    "postgresql": f"Index Scan using {WORKFLOWS}_pkey",
    "mysql": f"'{WORKFLOWS}', 'eq_ref'",
}
READY, PERFORMING = WorkflowState.READY, WorkflowState.PERFORMING


@pytest.fixture(autouse=True)
def crowd(geneva: gd.Drive, rows: Rows, database: str) -> None:
    """Thousands of sleepers, and then two workflows with an execution in progress."""
    rows.crowd(doublings=12, claimable=False, wakes_at=NOW)
    for workflow in (rows.workflow(), rows.workflow()):
        rows.execution(workflow, state="in_progress", worker_id="w", claim_token="t")
    with geneva.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(COUNTING[database]))


def plans(drive: gd.Drive, read: Callable[[Connection], Any]) -> list[str]:
    with noted(drive.engine) as statements, drive.store.reading() as connection:
        read(connection)
    return [plan(drive, *each) for each in statements if each[0].startswith("SELECT")]


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(WorkflowFilter(state=READY), id="ready"),
        pytest.param(WorkflowFilter(state=READY, types=["Signup"]), id="ready-of-one-type"),
        pytest.param(WorkflowFilter(state=READY, types=["Signup", "Other"]), id="ready-of-two"),
        pytest.param(WorkflowFilter(types=["Signup"], only_ongoing=True), id="ongoing"),
    ],
)
def test_a_page_begins_where_the_last_one_ended(
    wanted: WorkflowFilter, geneva: gd.Drive, database: str
) -> None:
    search = geneva.store.workflow_search
    wanted = replace(wanted, after=-4000)

    found = plans(
        geneva,
        lambda connection: search.page(
            connection, wanted, search.sections(connection, wanted), limit=5
        ),
    )

    assert [each for each in found if AFTER[database].search(each)]
    assert not [each for each in found if READS_WORKFLOWS.search(each)]
    assert not [each for each in found if READS_EXECUTIONS.search(each)]


def test_a_page_of_the_newest_begins_where_the_last_one_ended(
    geneva: gd.Drive, database: str
) -> None:
    search = geneva.store.workflow_search
    wanted = WorkflowFilter(state=READY, types=["Signup"], is_newest_first=True, after=-100)

    *_, window, found, page = plans(
        geneva,
        lambda connection: search.page(
            connection, wanted, search.sections(connection, wanted), limit=5
        ),
    )

    assert BEFORE[database].search(window)
    assert BEFORE[database].search(found)
    assert not [each for each in (window, found, page) if READS_WORKFLOWS.search(each)]


def test_performing_workflows_are_found_by_their_claims(geneva: gd.Drive, database: str) -> None:
    wanted = WorkflowFilter(state=PERFORMING)
    search = geneva.store.workflow_search

    found = plans(
        geneva,
        lambda connection: (
            search.page(connection, wanted, None, limit=50),
            search.ids(connection, wanted, None),
            search.count(connection, wanted),
        ),
    )

    assert [f"{EXECUTIONS}_held" in each for each in found] == [True, True, True]
    assert [BY_KEY[database] in each for each in found] == [True, True, True]
    assert not [each for each in found if READS_EXECUTIONS.search(each)]


def test_ready_workflows_are_told_from_performing_ones_by_their_claims(geneva: gd.Drive) -> None:
    wanted = WorkflowFilter(types=["Signup"], state=READY)
    search = geneva.store.workflow_search

    found = plans(
        geneva,
        lambda connection: (
            search.ids(connection, wanted, None),
            search.count(connection, wanted),
        ),
    )

    assert [f"{EXECUTIONS}_held" in each for each in found] == [True, True]
    assert not [each for each in found if READS_EXECUTIONS.search(each)]


def test_the_walk_for_orphans_goes_on_where_it_was(geneva: gd.Drive, database: str) -> None:
    last, orphans = plans(
        geneva,
        lambda connection: geneva.store.workflows.orphans(
            connection, "Signup", after=-4000, portion=5
        ),
    )

    assert AFTER[database].search(last)
    assert f"{EXECUTIONS}_one_active" in orphans
    assert not READS_WORKFLOWS.search(orphans)
    assert not READS_EXECUTIONS.search(orphans)


@pytest.mark.databases("sqlite")  # the others know how few graphs there are
def test_what_stored_graphs_need_is_found_by_the_graphs(geneva: gd.Drive) -> None:
    needs = geneva.store.requirements
    stored = [*needs.jobs(), *needs.methods(), *needs.lost_nodes()]

    found = plans(geneva, lambda connection: needs.names(connection, stored))

    assert len(found) == 4
    assert not [each for each in found if READS_WORKFLOWS.search(each)]
    assert not [each for each in found if READS_EXECUTIONS.search(each)]
