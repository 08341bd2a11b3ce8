"""Approvals in tests: decided by a speedrun, expired by a drain, or called directly."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, instance, speedrun, time_travel
from geneva_drive.testing.decisions import GivenDecision
from tests.looking import history

DAY = timedelta(days=1)


class Refund(gd.Workflow[Any]):
    type_name = "test_decisions.Refund"

    @gd.approval(role="sales_manager", timeout=DAY, on_timeout="escalate", escalate_to="director")
    def manager_approval(self, decision: gd.ApprovalDecision) -> str:
        return f"{decision.choice} by {decision.by}"

    @gd.step
    def pay_back(self) -> None: ...


@dataclass
class Amount:
    cents: int


class Bonus(gd.Workflow[Any]):
    type_name = "test_decisions.Bonus"

    @gd.approval(
        approvers=["ann", "bob", "cleo"],
        quorum=2,
        reject_quorum=2,
        deny_self=True,
        choices=("approve", "defer", "reject"),
        form=Amount,
        initial={"cents": 500},
    )
    def board(self, decision: gd.ApprovalDecision[Amount]) -> None: ...


class Claim(gd.Workflow[Any]):
    type_name = "test_decisions.Claim"

    refund = gd.child(Refund)

    @gd.approval(role="clerk", on_reject="continue")
    def close(self, decision: gd.ApprovalDecision) -> None: ...


def decided(workflow: gd.WorkflowHandle[Any]) -> gd.Approval:
    [approval] = workflow.drive.approvals.of_workflow(workflow.id)
    return approval


def votes(approval: gd.Approval) -> list[tuple[str, str]]:
    return [(vote.by, vote.choice) for vote in approval.votes]


@pytest.mark.parametrize(
    "name", ["manager_approval", Refund.manager_approval], ids=["by name", "by method"]
)
def test_a_speedrun_decides_at_an_approval_and_goes_on(geneva: gd.Drive, name: Any) -> None:
    workflow = speedrun(Refund.create(), decisions={name: "approve"})

    assert history(workflow) == [
        ("manager_approval", "completed", "approved"),
        ("pay_back", "completed", "success"),
    ]
    assert (decided(workflow).choice, decided(workflow).decided_by) == ("approve", "sales_manager")


def test_a_speedrun_rejects_if_it_is_told_to(geneva: gd.Drive) -> None:
    workflow = speedrun(Refund.create(), decisions={"manager_approval": "reject"})

    assert workflow.state == "canceled"
    assert history(workflow) == [("manager_approval", "completed", "rejected")]


def test_a_decision_takes_all_that_a_person_can_say(geneva: gd.Drive) -> None:
    given = {"choice": "approve", "by": "ann", "comment": "Sorry!", "data": {"cents": 80}}
    workflow = speedrun(Refund.create(), decisions={"manager_approval": given})

    approval = decided(workflow)
    assert (approval.decided_by, approval.comment, approval.data) == (
        "ann",
        "Sorry!",
        {"cents": 80},
    )


def test_the_rights_of_an_actor_are_checked(geneva: gd.Drive) -> None:
    clerk = gd.Actor("ann", roles=("clerk",))

    with pytest.raises(gd.errors.NotPermitted):
        speedrun(
            Refund.create(), decisions={"manager_approval": {"choice": "approve", "by": clerk}}
        )


@pytest.mark.parametrize("decisions", [None, {}], ids=["none", "empty"])
def test_a_speedrun_stops_at_an_approval_without_a_decision(
    geneva: gd.Drive, decisions: Any
) -> None:
    workflow = speedrun(Refund.create(), decisions=decisions)

    assert (workflow.state, workflow.paused_reason) == ("paused", "approval_required")
    assert speedrun(workflow).state == "paused"
    assert speedrun(workflow, decisions={"manager_approval": "approve"}).state == "finished"


def test_a_speedrun_that_stops_at_an_approval_has_not_exceeded_its_maximum(
    geneva: gd.Drive,
) -> None:
    assert speedrun(Refund.create(), max_steps=1).state == "paused"


def test_a_speedrun_passes_no_deadline(geneva: gd.Drive) -> None:
    workflow = Refund.create()

    with time_travel(3 * DAY):
        speedrun(workflow)
        speedrun(workflow)
    with time_travel(9 * DAY):
        speedrun(workflow)

    assert decided(workflow).role == "sales_manager"
    assert workflow.state == "paused"


def test_a_decision_that_is_never_asked_for_is_left(geneva: gd.Drive) -> None:
    class Free(gd.Workflow):
        @gd.approval(role="manager", skip_if=lambda self: True)
        def manager_approval(self, decision: gd.ApprovalDecision) -> None: ...

    assert speedrun(Free.create(), decisions={"manager_approval": "reject"}).state == "finished"


def test_a_quorum_is_filled_with_the_votes_of_as_many_people(geneva: gd.Drive) -> None:
    workflow = speedrun(Bonus.create(), decisions={"board": "defer"})

    assert votes(decided(workflow)) == [("bob", "defer"), ("ann", "defer")]
    assert workflow.state == "finished"


def test_the_person_who_is_named_completes_the_quorum(geneva: gd.Drive) -> None:
    given = {"choice": "reject", "by": "ann", "comment": "No."}
    workflow = speedrun(Bonus.create(), decisions={"board": given})

    assert votes(decided(workflow)) == [("bob", "reject"), ("ann", "reject")]
    assert decided(workflow).decided_by == "ann"


def test_votes_so_far_count_and_the_person_who_started_it_does_not_vote(
    geneva: gd.Drive,
) -> None:
    workflow = speedrun(Bonus.create(actor="ann"))
    decided(workflow).approve(by="bob", data={"cents": 1})

    speedrun(workflow, decisions={"board": "approve"})

    assert votes(decided(workflow)) == [("bob", "approve"), ("cleo", "approve")]
    assert workflow.reload().state == "finished"


def test_a_quorum_of_a_role_is_filled_with_people_who_have_it(geneva: gd.Drive) -> None:
    class Launch(gd.Workflow):
        @gd.approval(role="officer", quorum=3, deny_self=True)
        def officers(self, decision: gd.ApprovalDecision) -> None: ...

    workflow = speedrun(Launch.create(actor="officer 2"), decisions={"officers": "approve"})

    assert votes(decided(workflow)) == [
        ("officer 3", "approve"),
        ("officer 4", "approve"),
        ("officer", "approve"),
    ]


def test_a_form_is_approved_as_it_was_shown_unless_data_are_given(geneva: gd.Drive) -> None:
    shown = speedrun(Bonus.create(), decisions={"board": "approve"})
    given: GivenDecision = {"choice": "approve", "data": {"cents": 7}}
    changed = speedrun(Bonus.create(), decisions={"board": given})

    assert decided(shown).data == {"cents": 500}
    assert decided(changed).data == {"cents": 7}


def test_the_approvals_of_children_are_decided_too(geneva: gd.Drive) -> None:
    workflow = speedrun(
        Claim.create(), decisions={Refund.manager_approval: "approve", "close": "reject"}
    )

    assert history(workflow) == [
        ("refund", "completed", "success"),
        ("close", "completed", "rejected"),
    ]


def test_a_speedrun_stops_at_the_approval_of_a_child_without_a_decision(
    geneva: gd.Drive,
) -> None:
    workflow = speedrun(Claim.create(), decisions={"close": "approve"})

    assert workflow.state == "ready"
    assert [approval.step_name for approval in geneva.approvals.pending()] == ["manager_approval"]


def test_a_speedrun_decides_again_if_an_approval_asks_again(geneva: gd.Drive) -> None:
    class Draft(gd.Workflow):
        @gd.approval(role="editor")
        def review(self, decision: gd.ApprovalDecision) -> None:
            if self.attempt == 1:
                self.reattempt(rewind=True)

    workflow = speedrun(Draft.create(), decisions={"review": "approve"})

    assert workflow.state == "finished"
    assert geneva.approvals.of_workflow(workflow.id).count() == 2


NO_APPROVAL = (
    "speedrun(decisions=...) names {}, which is not an approval of test_decisions.Claim or its "
    "child workflows. These have: 'close', 'manager_approval'."
)
PARTS = "choice, by, comment, data"


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ({"manager": "approve"}, NO_APPROVAL.format("'manager'")),
        ({"refund": "approve"}, NO_APPROVAL.format("'refund'")),
        ({7: "approve"}, NO_APPROVAL.format("7")),
        (
            ["close"],
            "speedrun(decisions=...) must be a dictionary of approvals and choices, got ['close'].",
        ),
        (
            {"close": True},
            "speedrun(decisions=...) of 'close' must be a choice, or a dictionary with "
            f"{PARTS}, got True.",
        ),
        (
            {"close": {"choice": "approve", "who": "ann"}},
            f"speedrun(decisions=...) of 'close' has 'who', and takes only {PARTS}.",
        ),
        (
            {"close": {"by": "ann"}},
            "speedrun(decisions=...) of 'close' has no choice, such as 'approve' or 'reject'.",
        ),
    ],
    ids=["unknown", "no approval", "number", "no dictionary", "no decision", "key", "no choice"],
)
def test_what_is_no_decision_is_refused_before_anything_runs(
    geneva: gd.Drive, decisions: Any, message: str
) -> None:
    workflow = Claim.create()

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        speedrun(workflow, decisions=decisions)

    assert str(refusal.value) == message
    assert history(workflow) == [("refund", "scheduled", None)]


def test_a_workflow_without_approvals_takes_no_decisions(geneva: gd.Drive) -> None:
    class Plain(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        speedrun(Plain.create(), decisions={"work": "approve"})

    assert str(refusal.value) == (
        "speedrun(decisions=...) names 'work', which is not an approval of Plain or its child "
        "workflows. None of these has any."
    )


def test_a_choice_that_the_approval_does_not_have_is_refused(geneva: gd.Drive) -> None:
    workflow = Refund.create()

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        speedrun(workflow, decisions={"manager_approval": "maybe"})

    assert str(refusal.value) == (
        f"Approval {decided(workflow).id} has no choice 'maybe'. Its choices are: 'approve', "
        f"'reject'."
    )


def test_drain_escalates_and_then_rejects_at_the_deadlines(geneva: gd.Drive) -> None:
    workflow = Refund.create()
    drain(geneva)

    with time_travel(DAY):
        drain(geneva)
        assert (decided(workflow).role, decided(workflow).state) == ("director", "pending")
    with time_travel(2 * DAY + timedelta(minutes=1)):
        drain(geneva)

    assert decided(workflow).state == "expired"
    assert workflow.reload().state == "canceled"


def test_one_drain_expires_an_approval_and_runs_what_follows(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.approval(role="clerk", timeout=DAY, on_timeout="approve")
        def check(self, decision: gd.ApprovalDecision) -> None: ...

        @gd.step
        def ship(self) -> None: ...

    workflow = Order.create()
    drain(geneva)

    with time_travel(DAY):
        assert drain(geneva) == 2
    assert history(workflow) == [
        ("check", "completed", "expired"),
        ("ship", "completed", "success"),
    ]


@pytest.mark.parametrize(
    ("approved", "said"), [(True, "approve by ann"), (False, "reject by ann")], ids=str
)
def test_the_body_of_an_approval_can_be_called_directly(
    geneva: gd.Drive, approved: bool, said: str
) -> None:
    decision: gd.ApprovalDecision[dict[str, Any] | None] = gd.ApprovalDecision(
        approved=approved, choice="approve" if approved else "reject", by="ann", data=None
    )

    assert instance(Refund).manager_approval(decision) == said
