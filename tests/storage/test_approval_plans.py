"""Requests and the workflows that wait for them are found by an index, whatever else is stored."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, insert, text

import geneva_drive as gd
from geneva_drive.states import ApprovalState, WorkflowState
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter
from geneva_drive.storage.statements.waits.approvals import ApprovalFilter
from tests.storage.plans import noted, plan
from tests.storage.rows import NOW, Rows

WORKFLOWS = "geneva_drive_workflows"
APPROVALS = "geneva_drive_approvals"
PEOPLE = "geneva_drive_approval_people"
EXECUTIONS = "geneva_drive_step_executions"
COUNTING = {
    "sqlite": "SELECT 1",  # it is asked for plans as it is: it counts only if it is told to
    "postgresql": f"ANALYZE {WORKFLOWS}, {EXECUTIONS}, {APPROVALS}, {PEOPLE}",
    "mysql": f"ANALYZE TABLE {WORKFLOWS}, {EXECUTIONS}, {APPROVALS}, {PEOPLE}",
}
READS_ALL = re.compile(
    "|".join(
        rf"Seq Scan on {table}\b|SCAN {table}(?! USING)|'{table}', '(ALL|index)'"
        for table in (WORKFLOWS, APPROVALS, PEOPLE, EXECUTIONS)
    )
)
PENDING, COUNT = ApprovalState.PENDING, 2**11
REQUEST = {
    "step_name": "manager",
    "role": "manager",
    "choices": '["approve","reject"]',
    "quorum": 1,
    "reject_quorum": 1,
    "deny_self": False,
    "escalates_on_timeout": False,
    "escalation_count": 0,
    "requested_at": NOW,
}


@pytest.fixture(autouse=True)
def crowd(geneva: gd.Drive, rows: Rows, database: str) -> None:
    """Thousands of sleepers with requests, most of them decided, and three that wait."""
    rows.crowd(doublings=11, claimable=False, wakes_at=NOW)
    keys = range(-COUNT, 0)
    decided = [
        {**REQUEST, "id": key, "workflow_id": key, "execution_id": key, "state": "approved"}
        for key in keys
    ]
    for request in decided[:200]:
        request |= {"state": "pending", "role": "clerk"}
    voted = [{"approval_id": key, "person": "ann"} for key in keys]
    with rows.engine.begin() as connection:
        connection.execute(insert(rows.tables.approvals), decided)
        connection.execute(insert(rows.tables.approval_people), voted)
    for _ in range(3):
        _wait(rows)
    with geneva.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(COUNTING[database]))


def _wait(rows: Rows) -> None:
    workflow = rows.workflow(open_waits=1)
    execution = rows.execution(workflow, state="waiting", step_name="manager")
    pending = {"state": "pending", "role": "director", "wakes_at": NOW, "expires_at": NOW}
    ids = {"workflow_id": workflow, "execution_id": execution}
    request = rows.insert(rows.tables.approvals, **(REQUEST | pending | ids))
    named = {"approval_id": request, "person": "ann", "is_assigned": True}
    with rows.engine.begin() as connection:
        connection.execute(insert(rows.tables.approval_people), named)


def plans(drive: gd.Drive, read: Callable[[Connection], Any]) -> list[str]:
    with noted(drive.engine) as statements, drive.store.reading() as connection:
        read(connection)
    return [plan(drive, *each) for each in statements if each[0].startswith("SELECT")]


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (ApprovalFilter(state=PENDING), f"{APPROVALS}_pending"),
        (ApprovalFilter(state=PENDING, role="director"), f"{APPROVALS}_role"),
        (ApprovalFilter(state=PENDING, person="ann"), f"{PEOPLE}_assigned"),
    ],
    ids=["all", "role", "person"],
)
def test_pending_requests_are_found_among_those_that_were_decided(
    geneva: gd.Drive, wanted: ApprovalFilter, index: str
) -> None:
    approvals = geneva.store.approvals

    page, count = plans(
        geneva,
        lambda connection: (
            approvals.page(connection, wanted=wanted, limit=50),
            approvals.count(connection, wanted),
        ),
    )

    assert index in page
    assert index in count
    assert not READS_ALL.search(page)
    assert not READS_ALL.search(count)


def test_the_deadlines_that_have_passed_are_found_by_their_timer(geneva: gd.Drive) -> None:
    [due] = plans(geneva, lambda connection: geneva.store.approvals.due(connection, NOW, 50))

    assert f"{APPROVALS}_timer" in due
    assert not READS_ALL.search(due)


def test_workflows_that_wait_are_found_among_sleepers(geneva: gd.Drive) -> None:
    search, wanted = geneva.store.workflow_search, WorkflowFilter(state=WorkflowState.PAUSED)

    found = plans(
        geneva,
        lambda connection: (
            search.page(connection, wanted, search.sections(connection, wanted), limit=50),
            search.count(connection, wanted),
        ),
    )

    assert [each for each in found if f"{WORKFLOWS}_waits" in each]
    assert not [each for each in found if READS_ALL.search(each)]
