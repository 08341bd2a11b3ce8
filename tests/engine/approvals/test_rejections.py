"""What follows a rejection: the workflow is canceled, goes on, or runs a task."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, asked, reach, requests_of
from tests.looking import history

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


def test_a_rejection_cancels_the_workflow(geneva: gd.Drive) -> None:
    class Refund(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None:
            ran.append(decision)

        @gd.step
        def pay(self) -> None:
            ran.append("pay")

    workflow = reach(geneva, Refund)

    asked(geneva).reject(by="ann", comment="Too much.")
    drain(geneva)

    assert workflow.reload().state == "canceled"
    assert ran == [
        gd.ApprovalDecision(
            approved=False, choice="reject", by="ann", comment="Too much.", data=None
        )
    ]
    assert history(workflow) == [("manager", "completed", "rejected")]


def test_a_rejection_may_let_the_workflow_go_on(geneva: gd.Drive) -> None:
    class Refund(gd.Workflow):
        @gd.approval(role="manager", on_reject="continue")
        def manager(self, decision: Decision) -> None: ...

        @gd.step
        def close(self) -> None:
            ran.append("close")

    workflow = reach(geneva, Refund)

    asked(geneva).reject(by="ann")
    drain(geneva)

    assert (workflow.reload().state, ran) == ("finished", ["close"])
    assert history(workflow)[0] == ("manager", "completed", "rejected")


class Claim(gd.Workflow[Any]):
    """A rejection runs `apologize`, and nothing else behind the approval."""

    type_name = "test_rejections.Claim"

    @gd.approval(role="manager", on_reject="apologize", skip_if=lambda self: "skip" in self.context)
    def manager(self, decision: Decision) -> None: ...

    @gd.task(depends_on=manager)
    def apologize(self) -> None:
        ran.append("apologize")

    @gd.task(depends_on=manager)
    def pay(self) -> None:
        ran.append("pay")

    @gd.task(depends_on=pay)
    def book(self) -> None:
        ran.append("book")


def test_a_rejection_may_run_a_task_instead_of_the_other_dependants(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Claim)

    asked(geneva).reject(by="ann")
    drain(geneva)

    assert (workflow.reload().state, ran) == ("finished", ["apologize"])
    assert sorted(history(workflow)) == [
        ("apologize", "completed", "success"),
        ("book", "skipped", "skipped_by_branch"),
        ("manager", "completed", "rejected"),
        ("pay", "skipped", "skipped_by_branch"),
    ]


def test_the_task_of_a_rejection_is_left_out_after_an_approval(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Claim)

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (workflow.reload().state, ran) == ("finished", ["pay", "book"])
    assert ("apologize", "skipped", "skipped_by_branch") in history(workflow)


def test_an_approval_skipped_by_its_condition_runs_no_task_of_a_rejection(
    geneva: gd.Drive,
) -> None:
    workflow = reach(geneva, Claim, context={"skip": True})

    assert (workflow.state, ran, requests_of(workflow)) == ("finished", ["pay", "book"], [])
    assert history(workflow)[0] == ("manager", "skipped", "skipped_by_condition")
    assert ("apologize", "skipped", "skipped_by_branch") in history(workflow)


def test_an_approval_skipped_by_an_operator_runs_no_task_of_a_rejection(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Claim)

    workflow.skip("manager", actor="olga")
    drain(geneva)

    assert (workflow.reload().state, ran) == ("finished", ["pay", "book"])
    assert requests_of(workflow) == [("manager", "canceled")]
    assert history(workflow)[0] == ("manager", "skipped", "skipped_by_operator")
    assert ("apologize", "skipped", "skipped_by_branch") in history(workflow)


def test_a_rejection_cancels_the_approvals_beside_it(geneva: gd.Drive) -> None:
    class Purchase(gd.Workflow):
        @gd.approval(role="legal")
        def legal(self, decision: Decision) -> None: ...

        @gd.approval(role="finance", depends_on=[])
        def finance(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Purchase)

    asked(geneva, "legal").reject(by="ann")
    drain(geneva)

    assert workflow.reload().state == "canceled"
    assert requests_of(workflow) == [("legal", "rejected"), ("finance", "canceled")]
    assert sorted(history(workflow)) == [
        ("finance", "canceled", "canceled_by_flow_control"),
        ("legal", "completed", "rejected"),
    ]


def test_another_choice_than_reject_approves(geneva: gd.Drive) -> None:
    class Refund(gd.Workflow):
        @gd.approval(role="manager", choices=("in_full", "in_part", "reject"))
        def manager(self, decision: Decision) -> None:
            ran.append((decision.approved, decision.choice))

    workflow = reach(geneva, Refund)

    asked(geneva).decide("in_part", by="ann")
    drain(geneva)

    assert (workflow.reload().state, ran) == ("finished", [(True, "in_part")])
    assert history(workflow) == [("manager", "completed", "approved")]
