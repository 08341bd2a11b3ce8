"""An approval waits for a person, at every place that it can have in a workflow."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, speedrun
from tests.approving import Decision, asked, reach, requests_of
from tests.looking import history

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


class Refund(gd.Workflow[Any]):
    type_name = "test_waiting_for_decisions.Refund"

    @gd.step
    def look_up(self) -> None:
        ran.append("look_up")

    @gd.approval(role="manager", on_reject="continue")
    def manager(self, decision: Decision) -> None:
        ran.append(("manager", decision.choice, decision.by))

    @gd.step
    def pay(self) -> None:
        ran.append("pay")


def test_the_steps_before_an_approval_run_and_those_after_it_do_not(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)

    assert ran == ["look_up"]
    assert history(workflow) == [
        ("look_up", "completed", "success"),
        ("manager", "waiting", None),
    ]
    assert requests_of(workflow) == [("manager", "pending")]


def test_a_workflow_that_waits_has_nothing_due(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)

    assert drain(geneva) == 0

    assert history(workflow)[-1] == ("manager", "waiting", None)


def test_a_decision_lets_the_workflow_go_on_behind_the_approval(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert ran == ["look_up", ("manager", "approve", "ann"), "pay"]
    assert history(workflow) == [
        ("look_up", "completed", "success"),
        ("manager", "completed", "approved"),
        ("pay", "completed", "success"),
    ]


def test_the_execution_that_asked_is_the_one_that_ends(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)
    waiting = workflow.step_executions[-1]

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert [e.id for e in workflow.step_executions if e.step_name == "manager"] == [waiting.id]


@pytest.mark.parametrize("place", ["first", "last", "only"])
def test_an_approval_may_be_the_first_the_last_or_the_only_step(
    geneva: gd.Drive, place: str
) -> None:
    class First(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None: ...

        @gd.step
        def pay(self) -> None: ...

    class Last(gd.Workflow):
        @gd.step
        def look_up(self) -> None: ...

        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None: ...

    class Only(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None: ...

    classes: dict[str, type[gd.Workflow[Any]]] = {"first": First, "last": Last, "only": Only}
    workflow = reach(geneva, classes[place])
    assert workflow.state == "paused"

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert ("manager", "completed", "approved") in history(workflow)


def test_an_approval_with_a_wait_is_requested_when_the_wait_is_over(
    geneva: gd.Drive, geneva_clock: Any
) -> None:
    class Later(gd.Workflow):
        @gd.approval(role="manager", wait=3600)
        def manager(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Later)
    assert (workflow.state, geneva.approvals.pending().count()) == ("ready", 0)

    geneva_clock.advance(3600)
    drain(geneva)

    assert (workflow.reload().state, geneva.approvals.pending().count()) == ("paused", 1)


class Purchase(gd.Workflow[Any]):
    """Two approvals at once, and a join."""

    type_name = "test_waiting_for_decisions.Purchase"

    @gd.task
    def draft(self) -> None:
        ran.append("draft")

    @gd.approval(role="legal", depends_on=draft, on_reject="continue")
    def legal(self, decision: Decision) -> None:
        ran.append("legal")

    @gd.approval(role="finance", depends_on=draft, on_reject="continue")
    def finance(self, decision: Decision) -> None:
        ran.append("finance")

    @gd.task(depends_on=[legal, finance])
    def order(self) -> None:
        ran.append("order")


@pytest.mark.parametrize("order", [("legal", "finance"), ("finance", "legal")], ids="-".join)
def test_two_approvals_at_once_are_decided_in_either_order(
    geneva: gd.Drive, order: tuple[str, str]
) -> None:
    workflow = reach(geneva, Purchase)
    first, second = order
    assert sorted(requests_of(workflow)) == [("finance", "pending"), ("legal", "pending")]

    asked(geneva, first).approve(by="ann")
    drain(geneva)
    assert (workflow.reload().state, ran) == ("paused", ["draft", first])
    asked(geneva, second).approve(by="bob")
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert ran == ["draft", first, second, "order"]


def test_both_of_two_approvals_may_be_decided_before_a_worker_looks(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Purchase)

    asked(geneva, "legal").approve(by="ann")
    asked(geneva, "finance").reject(by="bob")
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert sorted(history(workflow)) == [
        ("draft", "completed", "success"),
        ("finance", "completed", "rejected"),
        ("legal", "completed", "approved"),
        ("order", "completed", "success"),
    ]


def test_a_branch_beside_a_waiting_approval_runs_on(geneva: gd.Drive) -> None:
    class Beside(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None:
            ran.append("manager")

        @gd.task
        def pack(self) -> None:
            ran.append("pack")

        @gd.task(depends_on=pack)
        def label(self) -> None:
            ran.append("label")

        @gd.task(depends_on=[manager, label])
        def send(self) -> None:
            ran.append("send")

    workflow = reach(geneva, Beside)
    assert (workflow.state, ran) == ("paused", ["pack", "label"])

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert ran == ["pack", "label", "manager", "send"]
    assert workflow.reload().state == "finished"


class Order(gd.Workflow[Any]):
    """Asks only for large orders."""

    type_name = "test_waiting_for_decisions.Order"

    @gd.decision
    def size(self) -> Any:
        return "manager" if self.context["total"] > 100 else "send"

    @gd.approval(role="manager", depends_on=size)
    def manager(self, decision: Decision) -> None:
        ran.append("manager")

    @gd.task(depends_on=size)
    def send(self) -> None:
        ran.append("send")

    @gd.task(depends_on=manager)
    def insure(self) -> None:
        ran.append("insure")


def test_an_approval_on_the_chosen_branch_of_a_decision_is_requested(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Order, context={"total": 500})
    assert requests_of(workflow) == [("manager", "pending")]

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (workflow.reload().state, ran) == ("finished", ["manager", "insure"])


def test_an_approval_on_a_branch_that_was_not_chosen_is_not_requested(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Order, context={"total": 5})

    assert (workflow.state, requests_of(workflow), ran) == ("finished", [], ["send"])
    assert ("manager", "skipped", "skipped_by_branch") in history(workflow)


def test_the_child_of_a_workflow_may_wait_for_a_person(geneva: gd.Drive) -> None:
    class Parent(gd.Workflow):
        refund = gd.child(Refund)

        @gd.step
        def close(self) -> None:
            ran.append("close")

    parent = reach(geneva, Parent)
    [child] = parent.children
    assert (parent.state, parent.needs) == ("ready", "child")
    assert (child.state, child.needs) == ("paused", "person")

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (child.reload().state, parent.reload().state) == ("finished", "finished")
    assert ran == ["look_up", ("manager", "approve", "ann"), "pay", "close"]


def test_the_request_of_a_child_is_canceled_with_its_parent(geneva: gd.Drive) -> None:
    class Parent(gd.Workflow):
        refund = gd.child(Refund)

    parent = reach(geneva, Parent)
    [child] = parent.children

    parent.cancel()

    assert requests_of(child) == [("manager", "canceled")]
    assert child.reload().state == "canceled"


def test_who_started_the_parent_may_not_decide_in_its_child(geneva: gd.Drive) -> None:
    class Strict(gd.Workflow):
        @gd.approval(role="manager", deny_self=True)
        def manager(self, decision: Decision) -> None: ...

    class Parent(gd.Workflow):
        refund = gd.child(Strict)

    reach(geneva, Parent, actor="ann")

    with pytest.raises(gd.errors.NotPermitted):
        asked(geneva).approve(by="ann")

    assert asked(geneva).approve(by="bob").state == "approved"


def test_an_approval_that_waits_takes_no_slot_of_its_limit(geneva: gd.Drive) -> None:
    class Limited(gd.Workflow):
        @gd.approval(role="manager", limit=gd.Limit(concurrency=1))
        def manager(self, decision: Decision) -> None: ...

    workflows = [Limited.create() for _ in range(3)]
    drain(geneva)
    requests = geneva.approvals.pending().all()
    assert len(requests) == 3

    for request in requests:
        request.approve(by="ann")
    drain(geneva)

    assert [workflow.reload().state for workflow in workflows] == ["finished"] * 3


def test_going_back_to_an_approval_that_is_done_asks_again(geneva: gd.Drive) -> None:
    class Slow(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None: ...

        @gd.step(wait=3600)
        def pay(self) -> None: ...

    workflow = reach(geneva, Slow)
    asked(geneva).approve(by="ann")
    drain(geneva)

    workflow.resume_at("manager")
    drain(geneva)

    assert requests_of(workflow) == [("manager", "approved"), ("manager", "pending")]


def test_a_speedrun_stops_at_an_approval_and_goes_on_behind_it(geneva: gd.Drive) -> None:
    workflow = speedrun(Refund.create())
    assert (workflow.state, ran) == ("paused", ["look_up"])

    asked(geneva).approve(by="ann")
    speedrun(workflow)

    assert (workflow.state, ran[-1]) == ("finished", "pay")


def test_approvals_one_after_the_other_pause_the_workflow_each_time(geneva: gd.Drive) -> None:
    class Ladder(gd.Workflow):
        @gd.approval(role="clerk")
        def clerk(self, decision: Decision) -> None: ...

        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None: ...

        @gd.approval(role="director")
        def director(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Ladder)
    assert (workflow.state, workflow.paused_step_name) == ("paused", "clerk")
    asked(geneva).approve(by="ann")
    drain(geneva)
    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "manager")
    asked(geneva).approve(by="ann")
    drain(geneva)
    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "director")
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert workflow.reload().state == "finished"
