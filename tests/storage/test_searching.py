"""Workflows are found by type and state, page by page in the order of their ids."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert

import geneva_drive as gd
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.keys import new_uuid
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter
from tests.storage.rows import NOW, Rows

READY = WorkflowFilter(state=WorkflowState.READY)
PERFORMING = WorkflowFilter(state=WorkflowState.PERFORMING)
SEVERAL_TYPES = pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(READY, id="ready"),
        pytest.param(WorkflowFilter(only_ongoing=True), id="ongoing"),
        pytest.param(WorkflowFilter(types=["A", "B", "C"]), id="of-types"),
        pytest.param(WorkflowFilter(), id="all"),
    ],
)


def pages(drive: gd.Drive, wanted: WorkflowFilter, *, limit: int) -> list[list[Any]]:
    """The ids of all pages."""
    search = drive.store.workflow_search
    found: list[list[Any]] = []
    with drive.store.reading() as connection:
        sections = search.sections(connection, wanted)
        while not found or len(found[-1]) == limit:
            page = search.page(connection, wanted, sections, limit=limit)
            found.append([record.id for record in page])
            wanted = replace(wanted, after=found[-1][-1]) if page else wanted
    return found


def ids(drive: gd.Drive, wanted: WorkflowFilter, limit: int | None = None) -> list[Any]:
    with drive.store.reading() as connection:
        return drive.store.workflow_search.ids(connection, wanted, limit)


def count(drive: gd.Drive, wanted: WorkflowFilter) -> int:
    with drive.store.reading() as connection:
        return drive.store.workflow_search.count(connection, wanted)


@SEVERAL_TYPES
def test_pages_mix_the_types_in_the_order_of_ids(
    wanted: WorkflowFilter, geneva: gd.Drive, rows: Rows
) -> None:
    made = [rows.workflow(type=name) for name in "BABCA"]

    assert pages(geneva, wanted, limit=2) == [made[:2], made[2:4], made[4:]]
    assert ids(geneva, wanted) == made
    assert ids(geneva, wanted, limit=3) == made[:3]
    assert ids(geneva, replace(wanted, after=made[1]), limit=2) == made[2:4]


@SEVERAL_TYPES
def test_the_newest_come_first_on_request(
    wanted: WorkflowFilter, geneva: gd.Drive, rows: Rows
) -> None:
    made = [rows.workflow(type=name) for name in "BABCA"]
    newest = made[::-1]
    wanted = replace(wanted, is_newest_first=True)

    assert pages(geneva, wanted, limit=2) == [newest[:2], newest[2:4], newest[4:]]
    assert ids(geneva, wanted) == newest
    assert ids(geneva, wanted, limit=3) == newest[:3]
    assert ids(geneva, replace(wanted, after=newest[1]), limit=2) == newest[2:4]


def test_only_workflows_that_were_created_since_a_moment_are_found(
    geneva: gd.Drive, rows: Rows
) -> None:
    made = [rows.workflow(created_at=NOW + timedelta(days=day)) for day in range(4)]
    wanted = replace(READY, since=NOW + timedelta(days=1))

    assert pages(geneva, wanted, limit=2) == [made[1:3], made[3:]]
    assert (ids(geneva, wanted), count(geneva, wanted)) == (made[1:], 3)
    assert count(geneva, replace(wanted, after=made[2])) == 1


def test_pages_follow_the_order_of_uuids_too(uuid_drive: gd.Drive) -> None:
    rows = Rows.of(uuid_drive)
    made = [rows.workflow(id=new_uuid(), type=name) for name in "BABCA"]

    assert pages(uuid_drive, READY, limit=2) == [made[:2], made[2:4], made[4:]]


def test_a_workflow_with_an_execution_in_progress_is_performing_and_not_ready(
    geneva: gd.Drive, rows: Rows
) -> None:
    made = [rows.workflow() for _ in range(4)]
    held = {"state": "in_progress", "worker_id": "w", "claim_token": "t"}
    rows.execution(made[1], **held)
    rows.execution(made[2], **held, slot="a", node_id="a")
    rows.execution(made[2], **held, slot="b", node_id="b")
    rows.execution(made[3])

    assert pages(geneva, READY, limit=2) == [[made[0], made[3]], []]
    assert pages(geneva, PERFORMING, limit=2) == [[made[1], made[2]], []]
    assert (ids(geneva, READY), ids(geneva, PERFORMING)) == ([made[0], made[3]], made[1:3])
    assert (count(geneva, READY), count(geneva, PERFORMING)) == (2, 2)


def test_a_paused_workflow_whose_execution_still_runs_is_neither(
    geneva: gd.Drive, rows: Rows
) -> None:
    paused = rows.workflow(state="paused")
    rows.execution(paused, state="in_progress", worker_id="w", claim_token="t")

    assert (ids(geneva, READY), ids(geneva, PERFORMING)) == ([], [])
    assert (count(geneva, READY), count(geneva, PERFORMING)) == (0, 0)


def test_no_workflow_has_ended_and_is_ongoing(geneva: gd.Drive, rows: Rows) -> None:
    rows.workflow(state="finished", finished_at=NOW)
    wanted = WorkflowFilter(state=WorkflowState.FINISHED, only_ongoing=True)

    assert pages(geneva, wanted, limit=2) == [[]]
    assert (ids(geneva, wanted), ids(geneva, wanted, limit=1)) == ([], [])
    assert count(geneva, wanted) == 0


def test_the_types_in_a_state_are_found(geneva: gd.Drive, rows: Rows) -> None:
    for name in ("Order", "", "Signup", "Order"):
        rows.workflow(type=name)
    rows.workflow(type="Refund", state="paused")

    with geneva.store.reading() as connection:
        types = geneva.store.workflow_search.types_in(connection, WorkflowState.READY)

    assert types == ["", "Order", "Signup"]


def test_more_types_than_a_statement_takes_are_found_all_the_same(
    geneva: gd.Drive, rows: Rows
) -> None:
    row = {"state": "ready", "created_at": NOW, "updated_at": NOW}
    with geneva.engine.begin() as connection:
        values = [row | {"type": f"Type{number}"} for number in range(401)]
        connection.execute(insert(rows.tables.workflows), values)

    found = pages(geneva, READY, limit=300)

    assert [len(page) for page in found] == [300, 101]
