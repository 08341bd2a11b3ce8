"""What a workflow that waits for a person reads as, and what it says about itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_next_step
from tests.approving import Decision, Handle, StandingClock, asked, reach

HOUR = timedelta(hours=1)
NO_WORKER = (
    "but no running worker serves {type} on queue 'default': start `geneva worker` with an app "
    "that imports the class."
)


class Refund(gd.Workflow[Any]):
    type_name = "test_waiting_states.Refund"

    @gd.approval(role="manager", quorum=2, timeout=HOUR, on_timeout="pause")
    def manager(self, decision: Decision) -> None:
        if self.context.get("look"):
            seen.append((self.handle.reload().state, self.handle.needs, self.handle.why()))

    @gd.step
    def pay(self) -> None: ...


class Purchase(gd.Workflow[Any]):
    type_name = "test_waiting_states.Purchase"

    @gd.approval(approvers=["ann", "bob"])
    def legal(self, decision: Decision) -> None: ...

    @gd.approval(role="finance", depends_on=[])
    def finance(self, decision: Decision) -> None: ...


class Timed(gd.Workflow[Any]):
    type_name = "test_waiting_states.Timed"

    @gd.approval(role="manager")
    def manager(self, decision: Decision) -> None: ...

    @gd.task(depends_on=[], wait=HOUR)
    def remind(self) -> None: ...


class Child(gd.Workflow[Any]):
    type_name = "test_waiting_states.Child"

    @gd.step(wait=HOUR)
    def rest(self) -> None: ...


class WithChild(gd.Workflow[Any]):
    type_name = "test_waiting_states.WithChild"

    @gd.approval(role="manager")
    def manager(self, decision: Decision) -> None: ...

    child = gd.child(Child, depends_on=[])


seen: list[Any] = []


@pytest.fixture(autouse=True)
def _none_seen() -> None:
    seen.clear()


def reads(workflow: Handle) -> tuple[Any, ...]:
    """Return everything that a pause shows."""
    workflow.reload()
    return (
        workflow.state,
        workflow.needs,
        workflow.paused_reason,
        workflow.paused_step_name,
        workflow.next_step_name,
    )


def test_a_workflow_that_waits_for_a_person_reads_as_paused(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Refund)

    assert reads(workflow) == ("paused", "person", "approval_required", "manager", "manager")
    assert workflow.paused_at == clock.moment
    assert workflow.is_ongoing
    assert workflow.why() == (
        f"Step 'manager' waits for a decision on approval {asked(geneva).id} by role 'manager' "
        f"(2 people), until 2026-03-01 13:00:00 UTC."
    )


def test_the_people_who_are_named_are_told(geneva: gd.Drive, clock: StandingClock) -> None:
    class Named(gd.Workflow):
        @gd.approval(approvers=["ann", "bob"])
        def board(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Named)

    assert workflow.why() == (
        f"Step 'board' waits for a decision on approval {asked(geneva).id} by ann, bob."
    )


def test_paused_at_is_when_the_last_request_was_opened(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    class Late(gd.Workflow):
        @gd.approval(role="legal")
        def legal(self, decision: Decision) -> None: ...

        @gd.approval(role="finance", depends_on=[], wait=HOUR)
        def finance(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Late)
    assert reads(workflow) == ("ready", "person", None, None, "legal")
    assert workflow.paused_at is None

    clock.advance(HOUR)
    drain(geneva)

    assert reads(workflow) == ("paused", "person", "approval_required", "legal", "legal")
    assert workflow.paused_at == clock.moment


def test_two_nodes_that_wait_are_told_together(geneva: gd.Drive, clock: StandingClock) -> None:
    workflow = reach(geneva, Purchase)

    assert reads(workflow) == ("paused", "person", "approval_required", "legal", "legal")
    assert workflow.why() == "2 nodes wait for decisions ('legal', 'finance')."


def test_a_decision_that_a_worker_is_to_take_up_reads_as_ready(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Refund)

    asked(geneva).approve(by="ann")
    asked(geneva).approve(by="bob")

    assert reads(workflow) == ("ready", "worker", None, None, "manager")
    assert workflow.paused_at is None
    assert workflow.why() == f"Step 'manager' is due, {NO_WORKER.format(type=Refund.type_name)}"


def test_one_of_two_decisions_reads_as_ready(geneva: gd.Drive, clock: StandingClock) -> None:
    workflow = reach(geneva, Purchase)

    asked(geneva, "legal").approve(by="ann")

    assert reads(workflow) == ("ready", "worker", None, None, "legal")
    assert workflow.why() == "1 node is due ('legal'), 1 waits for a decision ('finance')."


def test_a_body_that_runs_reads_as_performing(geneva: gd.Drive, clock: StandingClock) -> None:
    reach(geneva, Refund, context={"look": True})
    asked(geneva).approve(by="ann")
    asked(geneva).approve(by="bob")

    drain(geneva)

    [(state, needs, _)] = seen
    assert (state, needs) == ("performing", "worker")


def test_a_node_that_runs_later_keeps_the_workflow_ready(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Timed)

    assert reads(workflow) == ("ready", "person", None, None, "manager")
    assert workflow.why() == (
        "1 node runs later ('remind'), from 2026-03-01 13:00:00 UTC on, 1 waits for a decision "
        "('manager')."
    )


def test_a_node_that_waits_for_a_child_keeps_the_workflow_ready(geneva: gd.Drive) -> None:
    workflow = reach(geneva, WithChild)

    assert reads(workflow)[:4] == ("ready", "person", None, None)


def test_a_pause_by_hand_on_a_waiting_workflow_needs_an_operator(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Refund)
    clock.advance(timedelta(minutes=1))

    workflow.pause(reason="audit", actor="olga")

    assert reads(workflow) == ("paused", "operator", "audit", "manager", "manager")
    assert workflow.paused_at == clock.moment
    assert workflow.why() == (
        f"It has been paused since 2026-03-01 12:01:00 UTC (audit), while step 'manager' waits for "
        f"a decision on approval {asked(geneva).id} by role 'manager' (2 people), until "
        f"2026-03-01 13:00:00 UTC: the decision takes effect after `resume`."
    )


def test_a_decision_on_a_paused_workflow_waits_for_the_operator(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Refund).pause()

    asked(geneva).approve(by="ann")
    asked(geneva).approve(by="bob")

    assert reads(workflow) == ("paused", "operator", None, "manager", "manager")
    assert workflow.why() == (
        "It has been paused since 2026-03-01 12:00:00 UTC: `resume` runs step 'manager'; `skip` "
        "leaves it out."
    )


def test_a_request_that_expired_with_pause_needs_an_operator(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Refund)
    clock.advance(HOUR)

    drain(geneva)

    assert reads(workflow) == ("paused", "operator", "expired", "manager", "manager")
    assert workflow.why() == (
        "It has been paused since 2026-03-01 13:00:00 UTC (expired): `resume` runs step 'manager' "
        "again; `skip` leaves it out."
    )


def test_a_workflow_that_was_rejected_names_who_did_it(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Refund)

    asked(geneva).reject(by="ann", comment="too much")
    drain(geneva)

    assert reads(workflow) == ("canceled", "none", None, None, None)
    assert workflow.why() == (
        "It was canceled at 2026-03-01 12:00:00 UTC, because step 'manager' was rejected by ann "
        "(too much); nothing is left to do."
    )


def test_a_rejection_is_named_and_not_the_node_that_was_canceled_with_it(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Purchase)

    asked(geneva, "finance").reject(by="cleo")
    drain(geneva)

    assert workflow.reload().why() == (
        "It was canceled at 2026-03-01 12:00:00 UTC, because step 'finance' was rejected by cleo; "
        "nothing is left to do."
    )


def test_a_workflow_that_expired_says_so(geneva: gd.Drive, clock: StandingClock) -> None:
    class Strict(gd.Workflow):
        @gd.approval(role="manager", timeout=HOUR)
        def manager(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Strict)
    clock.advance(HOUR)
    drain(geneva)

    assert workflow.reload().why() == (
        "It was canceled at 2026-03-01 13:00:00 UTC, because step 'manager' was not decided in "
        "time; nothing is left to do."
    )


def test_a_rejection_that_let_the_workflow_go_on_did_not_cancel_it(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    class Lenient(gd.Workflow):
        @gd.approval(role="manager", on_reject="continue")
        def manager(self, decision: Decision) -> None: ...

        @gd.step
        def give_up(self) -> None:
            self.cancel()

    workflow = reach(geneva, Lenient)
    asked(geneva).reject(by="ann")
    perform_next_step(workflow)
    clock.advance(HOUR)
    drain(geneva)

    assert workflow.reload().why() == (
        "It was canceled at 2026-03-01 13:00:00 UTC by step 'give_up'; nothing is left to do."
    )
