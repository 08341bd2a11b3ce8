"""Pausing, resuming and other commands on workflows that wait for a person."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import (
    Decision,
    Handle,
    StandingClock,
    asked,
    everything_stored,
    reach,
    requests_of,
)
from tests.looking import history

HOUR = timedelta(hours=1)
ran: list[Any] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


class Refund(gd.Workflow[Any]):
    type_name = "test_approval_pausing.Refund"

    @gd.approval(role="manager", timeout=HOUR, on_timeout="pause", on_reject="continue")
    def manager(self, decision: Decision) -> None:
        ran.append(decision.choice)

    @gd.step
    def pay(self) -> None:
        ran.append("pay")


class Purchase(gd.Workflow[Any]):
    type_name = "test_approval_pausing.Purchase"

    @gd.approval(role="legal", escalate_to="partner", choices=("sign", "reject"))
    def legal(self, decision: Decision) -> None: ...

    @gd.approval(role="finance", depends_on=[])
    def finance(self, decision: Decision) -> None: ...

    @gd.task(depends_on=[legal, finance])
    def order(self) -> None: ...


def test_resume_is_refused_with_the_way_out(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)
    key, before = asked(geneva).id, everything_stored(geneva)

    with pytest.raises(gd.errors.InvalidStateError) as refused:
        workflow.resume()

    assert str(refused.value) == (
        f"Cannot resume this workflow: step 'manager' waits for a decision. Decide approval {key}, "
        f"as with `geneva approve {key} --by NAME`, or pass over the step with skip."
    )
    assert everything_stored(geneva) == before


def test_a_pause_holds_the_effect_of_a_decision_until_resume(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund).pause(actor="olga")

    decided = asked(geneva).approve(by="ann")
    drain(geneva)
    assert (decided.state, ran, workflow.reload().state) == ("approved", [], "paused")
    workflow.resume(actor="olga")
    drain(geneva)

    assert (ran, workflow.reload().state) == (["approve", "pay"], "finished")


def test_resume_of_a_paused_workflow_that_nobody_decided_lets_it_wait_on(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund).pause()

    workflow.resume()
    assert (workflow.reload().state, workflow.needs) == ("paused", "person")
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert requests_of(workflow) == [("manager", "approved")]


def test_a_workflow_that_waits_can_be_paused_once(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund).pause()

    with pytest.raises(gd.errors.InvalidStateError) as refused:
        workflow.pause()

    assert str(refused.value) == "Cannot pause a paused workflow."


def test_a_skip_passes_over_the_approval_and_cancels_its_request(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)

    workflow.skip(actor="olga")
    drain(geneva)

    assert (ran, workflow.reload().state) == (["pay"], "finished")
    assert requests_of(workflow) == [("manager", "canceled")]
    assert history(workflow)[0] == ("manager", "skipped", "skipped_by_operator")


def test_resume_at_a_later_step_cancels_the_request(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)

    workflow.resume_at("pay")
    drain(geneva)

    assert (ran, workflow.reload().state) == (["pay"], "finished")
    assert requests_of(workflow) == [("manager", "canceled")]


def test_a_rewind_of_one_of_two_approvals_leaves_the_other(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Purchase)

    workflow.rewind("legal")
    drain(geneva)

    assert sorted(requests_of(workflow)) == [
        ("finance", "pending"),
        ("legal", "canceled"),
        ("legal", "pending"),
    ]


def test_a_reattempt_of_an_approval_that_waits_is_refused(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Purchase)

    with pytest.raises(gd.errors.InvalidStateError) as refused:
        workflow.reattempt("legal")

    assert str(refused.value) == (
        "Cannot reattempt node 'legal': it is waiting, neither failed nor canceled."
    )


def test_a_rewind_of_an_approval_takes_no_cursor(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)

    with pytest.raises(gd.errors.InvalidStateError) as refused:
        workflow.rewind("manager", to=5)

    assert str(refused.value) == (
        "Cannot rewind approval 'manager' to a cursor: it has none. Without one, rewind asks again."
    )


def test_a_decision_that_an_operator_held_and_then_skipped_has_no_effect(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund).pause()
    asked(geneva).approve(by="ann")

    workflow.skip()
    drain(geneva)

    assert (ran, workflow.reload().state) == (["pay"], "finished")
    [request, *_] = workflow.resume_requests
    assert (request.executed_at, request.error) == (
        None,
        "Its execution was canceled or skipped before the workflow continued.",
    )


def paused_by_hand(drive: gd.Drive) -> Handle:
    return reach(drive, Refund).pause()


def decided_while_paused(drive: gd.Drive) -> Handle:
    workflow = reach(drive, Refund).pause()
    asked(drive).approve(by="ann")
    return workflow


def escalated(drive: gd.Drive) -> Handle:
    workflow = reach(drive, Purchase)
    asked(drive, "legal").escalate(by="ann")
    return workflow


def finished(drive: gd.Drive) -> Handle:
    workflow = reach(drive, Refund)
    asked(drive).approve(by="ann")
    drain(drive)
    return workflow


def due(drive: gd.Drive) -> Handle:
    workflow = reach(drive, Refund)
    asked(drive).approve(by="ann")
    return workflow


def past_the_deadline(drive: gd.Drive) -> Handle:
    workflow = reach(drive, Refund)
    drive.clock = clock = StandingClock()
    clock.moment = workflow.drive.approvals.pending().all()[0].requested_at + 2 * HOUR
    return workflow


OPTIONS: dict[str, tuple[Callable[[gd.Drive], Handle], list[str]]] = {
    "waiting": (
        lambda drive: reach(drive, Refund),
        ["approve", "reject", "delegate", "skip", "cancel"],
    ),
    "several": (
        lambda drive: reach(drive, Purchase),
        ["sign", "reject", "approve", "escalate", "delegate", "skip", "cancel"],
    ),
    "paused by hand": (
        paused_by_hand,
        ["approve", "reject", "delegate", "resume", "skip", "cancel"],
    ),
    "decided while paused": (decided_while_paused, ["resume", "skip", "cancel"]),
    "past the deadline": (past_the_deadline, ["skip", "cancel"]),
    "due": (due, []),
    "finished": (finished, []),
}


@pytest.mark.parametrize("situation", OPTIONS)
def test_the_options_are_what_would_succeed_now(geneva: gd.Drive, situation: str) -> None:
    bring_about, actions = OPTIONS[situation]

    workflow = bring_about(geneva)

    assert workflow.resume_options() == {"actions": actions}


ACTS: dict[str, Callable[[Handle, gd.Approval | None], Any]] = {
    "approve": lambda workflow, request: request and request.approve(by="zoe"),
    "sign": lambda workflow, request: request and request.decide("sign", by="zoe"),
    "reject": lambda workflow, request: request and request.reject(by="zoe"),
    "escalate": lambda workflow, request: request and request.escalate(by="zoe"),
    "delegate": lambda workflow, request: request and request.delegate(to="eve", by="zoe"),
    "resume": lambda workflow, request: workflow.resume(),
    "skip": lambda workflow, request: workflow.skip(),
    "cancel": lambda workflow, request: workflow.cancel(),
}
OFFERED = [
    (situation, action)
    for situation, (_, actions) in OPTIONS.items()
    if situation != "several"  # its options are those of two requests
    for action in actions
]


@pytest.mark.parametrize(("situation", "action"), OFFERED)
def test_what_is_offered_succeeds(geneva: gd.Drive, situation: str, action: str) -> None:
    workflow = OPTIONS[situation][0](geneva)
    request = geneva.approvals.pending().first()
    before = everything_stored(geneva)

    ACTS[action](workflow, request)

    assert everything_stored(geneva) != before


@pytest.mark.parametrize(
    ("act", "states"),
    [
        (lambda workflow: workflow.skip("legal"), [("finance", "pending"), ("legal", "canceled")]),
        (lambda workflow: workflow.cancel(), [("finance", "canceled"), ("legal", "canceled")]),
    ],
    ids=["skip", "cancel"],
)
def test_the_commands_offered_for_several_requests_succeed(
    geneva: gd.Drive, act: Callable[[Handle], Any], states: list[tuple[str, str]]
) -> None:
    workflow = reach(geneva, Purchase)

    act(workflow)

    assert sorted(requests_of(workflow)) == states


def test_the_options_read_the_workflow_as_it_is_now(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)
    state_before = workflow.state
    asked(geneva).approve(by="ann")

    assert workflow.resume_options() == {"actions": []}
    assert workflow.state == state_before
