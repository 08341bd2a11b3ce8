"""The statements that approvals send: in the order of locks, few, and answered by an index."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.states import ApprovalState
from geneva_drive.testing import drain
from geneva_drive.worker.housekeeping.waits.deadlines import APPROVALS, Deadlines
from tests.approval_ledger import assert_consistent
from tests.storage.plans import noted, plan

HOUR = timedelta(hours=1)


@pytest.fixture
def refund(geneva: gd.Drive) -> type[gd.Workflow[Any]]:
    class Refund(gd.Workflow[Any]):
        @gd.approval(approvers=["ann", "ben"], timeout=HOUR)
        def clerk(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    return Refund


def test_a_workflow_is_locked_before_a_request_is_inserted(
    geneva: gd.Drive, database: str, refund: type[gd.Workflow[Any]]
) -> None:
    refund.create()

    with noted(geneva.engine) as sent:
        drain(geneva)

    statements = [statement for statement, _ in sent]
    [insert] = [n for n, one in enumerate(statements) if "INTO geneva_drive_approvals" in one]
    before = statements[insert - 1]
    assert "FROM geneva_drive_workflows" in before
    assert before.endswith("FOR UPDATE") is (database != "sqlite")


@pytest.mark.parametrize("table", ["approvals", "approval_people", "step_executions", "workflows"])
def test_requests_that_expire_at_the_same_time_share_one_statement(
    geneva: gd.Drive,
    geneva_clock: ShiftedClock,
    refund: type[gd.Workflow[Any]],
    table: str,
) -> None:
    for _ in range(5):
        refund.create()
    drain(geneva)
    geneva_clock.advance(HOUR)

    with noted(geneva.engine) as sent:
        assert Deadlines(geneva.environment, APPROVALS).pass_due().changed == 5

    updates = [one for one, _ in sent if one.startswith(f"UPDATE geneva_drive_{table} ")]
    assert len(updates) == 1
    ledger = assert_consistent(geneva)
    assert [row["state"] for row in ledger.approvals] == [ApprovalState.EXPIRED] * 5


def test_a_decision_is_read_once_and_written_in_as_few_statements_as_the_database_allows(
    geneva: gd.Drive, database: str
) -> None:
    class Order(gd.Workflow[Any]):
        @gd.approval(role="clerk")
        def clerk(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    Order.create()
    drain(geneva)
    [approval] = geneva.approvals.pending()

    with noted(geneva.engine) as sent:
        approval.approve(by="ann")

    assert len(sent) == (3 if database == "postgresql" else 8)
    assert approval.state is ApprovalState.APPROVED
    assert_consistent(geneva)


@pytest.mark.databases("postgresql")  # only PostgreSQL sends hints within a statement
def test_a_decision_hints_at_the_execution_that_it_makes_due(
    geneva: gd.Drive, refund: type[gd.Workflow[Any]]
) -> None:
    workflow = refund.create()
    drain(geneva)
    [execution] = workflow.step_executions

    with noted(geneva.engine) as sent:
        geneva.approvals.of_workflow(workflow.id).all()[0].approve(by="ann")

    [hint] = [values["payload"] for statement, values in sent if "pg_notify" in statement]
    assert hint.endswith(f":{execution.id}")


def test_a_decision_that_a_hold_keeps_from_taking_effect_hints_at_nothing(
    geneva: gd.Drive, refund: type[gd.Workflow[Any]]
) -> None:
    workflow = refund.create()
    drain(geneva)
    workflow.pause()

    with noted(geneva.engine) as sent:
        geneva.approvals.of_workflow(workflow.id).all()[0].approve(by="ann")

    assert not [one for one, _ in sent if "pg_notify" in one]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE geneva_drive_approvals ",
        "DELETE FROM geneva_drive_approval_people ",
        "UPDATE geneva_drive_approval_links ",
        "INSERT INTO geneva_drive_audit_entries ",
    ],
)
def test_requests_that_are_escalated_at_the_same_time_share_one_statement(
    geneva: gd.Drive, geneva_clock: ShiftedClock, statement: str
) -> None:
    class Refund(gd.Workflow[Any]):
        @gd.approval(
            approvers=["ann"],
            timeout=HOUR,
            on_timeout="escalate",
            escalate_to="board",
        )
        def clerk(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    for _ in range(5):
        Refund.create()
    drain(geneva)
    geneva_clock.advance(HOUR)

    with noted(geneva.engine) as sent:
        assert Deadlines(geneva.environment, APPROVALS).pass_due().changed == 5

    assert len([one for one, _ in sent if one.startswith(statement)]) == 1
    ledger = assert_consistent(geneva)
    assert [(row["role"], row["state"]) for row in ledger.approvals] == [("board", "pending")] * 5
    assert ledger.people == []


@pytest.mark.databases("sqlite")  # the servers choose by the size of the table
@pytest.mark.parametrize(
    ("wanted", "index"),
    [({}, "pending"), ({"role": "clerk"}, "role")],
    ids=["all", "of a role"],
)
def test_the_pending_requests_are_found_by_an_index_without_a_look_at_the_decided_ones(
    geneva: gd.Drive, wanted: dict[str, str], index: str
) -> None:
    query = geneva.approvals.pending(**wanted)

    with noted(geneva.engine) as sent:
        assert query.all() == []

    assert f"INDEX geneva_drive_approvals_{index}" in plan(geneva, *sent[0])
