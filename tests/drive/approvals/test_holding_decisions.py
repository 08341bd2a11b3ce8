"""`auto_resume_after_approval=False`: an operator lets a decided workflow continue."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, StandingClock, asked, reach
from tests.drive.approvals.conftest import OpenDrive
from tests.looking import history

HOUR = timedelta(hours=1)
ran: list[Any] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture
def holding(open_drive: OpenDrive, clock: StandingClock) -> gd.Drive:
    """A Drive on which a decision does not resume its workflow."""
    drive = open_drive(auto_resume_after_approval=False)
    drive.clock = clock
    return drive


class Refund(gd.Workflow[Any]):
    type_name = "test_holding_decisions.Refund"

    @gd.approval(role="manager", timeout=HOUR, on_reject="continue")
    def manager(self, decision: Decision) -> None:
        ran.append(decision.choice)


class Purchase(gd.Workflow[Any]):
    type_name = "test_holding_decisions.Purchase"

    @gd.approval(role="legal")
    def legal(self, decision: Decision) -> None:
        ran.append("legal")

    @gd.approval(role="finance", depends_on=[])
    def finance(self, decision: Decision) -> None:
        ran.append("finance")

    @gd.task(depends_on=[], wait=HOUR)
    def remind(self) -> None:
        ran.append("remind")


def pause_of(workflow: Handle) -> tuple[Any, ...]:
    workflow.reload()
    return workflow.state, workflow.needs, workflow.paused_reason, workflow.paused_step_name


@pytest.mark.parametrize(("choice", "reason"), [("approve", "approved"), ("reject", "rejected")])
def test_a_decision_holds_the_workflow_until_resume(
    holding: gd.Drive, choice: str, reason: str
) -> None:
    workflow = reach(holding, Refund)

    asked(holding).decide(choice, by="ann")
    drain(holding)
    assert (pause_of(workflow), ran) == (("paused", "operator", reason, "manager"), [])
    workflow.resume(actor="olga")
    drain(holding)

    assert (workflow.reload().state, ran) == ("finished", [choice])


def test_the_request_to_resume_is_executed_by_the_operator(
    holding: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(holding, Refund)
    asked(holding).approve(by="ann")
    assert [r.executed_at for r in workflow.resume_requests] == [None]

    workflow.resume(actor="olga")

    executed = [(r.trigger, r.actor, r.executed_at) for r in workflow.resume_requests]
    assert executed == [
        ("approval", "ann", clock.moment),
        ("manual", "olga", clock.moment),
    ]


def test_what_a_held_workflow_says_about_itself(holding: gd.Drive, clock: StandingClock) -> None:
    workflow = reach(holding, Refund)

    asked(holding).approve(by="ann")

    assert workflow.reload().why() == (
        "It has been paused since 2026-03-01 12:00:00 UTC (approved): `resume` runs step "
        "'manager'; `skip` leaves it out."
    )
    assert workflow.resume_options() == {"actions": ["resume", "skip", "cancel"]}
    assert workflow.paused_at == clock.moment


def test_a_decision_holds_the_nodes_beside_it_too(holding: gd.Drive, clock: StandingClock) -> None:
    workflow = reach(holding, Purchase)

    asked(holding, "legal").approve(by="ann")
    clock.advance(HOUR)
    drain(holding)
    assert (pause_of(workflow), ran) == (("paused", "operator", "approved", "legal"), [])
    workflow.resume()
    drain(holding)

    assert sorted(ran) == ["legal", "remind"]
    assert pause_of(workflow) == ("paused", "person", "approval_required", "finance")


def test_both_of_two_decisions_take_effect_with_one_resume(holding: gd.Drive) -> None:
    workflow = reach(holding, Purchase)

    asked(holding, "legal").approve(by="ann")
    asked(holding, "finance").approve(by="bob")
    workflow.resume()
    drain(holding)

    assert sorted(ran) == ["finance", "legal"]
    assert [r.executed_at is None for r in workflow.resume_requests] == [False, False, False]


def test_an_expiry_needs_no_operator(holding: gd.Drive, clock: StandingClock) -> None:
    workflow = reach(holding, Refund)

    clock.advance(HOUR)
    drain(holding)

    assert (workflow.reload().state, ran) == ("finished", [None])


def test_a_held_workflow_can_be_canceled(holding: gd.Drive) -> None:
    workflow = reach(holding, Refund)
    asked(holding).approve(by="ann")

    workflow.cancel()
    drain(holding)

    assert (workflow.reload().state, ran) == ("canceled", [])
    assert history(workflow) == [("manager", "canceled", "canceled_by_operator")]


def test_a_decision_beside_a_running_node_holds_the_workflow_when_that_has_ended(
    holding: gd.Drive, clock: StandingClock
) -> None:
    class Busy(gd.Workflow):
        @gd.approval(role="legal")
        def legal(self, decision: Decision) -> None:
            ran.append("legal")

        @gd.task(depends_on=[], wait=HOUR)
        def decide_meanwhile(self) -> None:
            asked(holding, "legal").approve(by="ann")
            ran.append("meanwhile")

        @gd.task(depends_on=decide_meanwhile)
        def after(self) -> None:
            ran.append("after")

    workflow = reach(holding, Busy)
    clock.advance(HOUR)
    drain(holding)
    assert (pause_of(workflow)[:3], ran) == (("paused", "operator", "approved"), ["meanwhile"])
    workflow.resume()
    drain(holding)

    assert (workflow.reload().state, sorted(ran)) == ("finished", ["after", "legal", "meanwhile"])
