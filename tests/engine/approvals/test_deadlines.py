"""What happens at the deadline of a request."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, asked, reach, requests_of
from tests.looking import history

HOUR = timedelta(hours=1)
EXPIRED = gd.ApprovalDecision(approved=False, data=None, expired=True)

decisions: list[Decision] = []


@pytest.fixture(autouse=True)
def _none_decided() -> None:
    decisions.clear()


def refund(**options: Any) -> type[gd.Workflow[Any]]:
    """Return a class whose approval has a deadline of an hour."""

    class Refund(gd.Workflow):
        @gd.approval(role="manager", timeout=HOUR, **options)
        def manager(self, decision: Decision) -> None:
            decisions.append(decision)

        @gd.task(depends_on=manager)
        def late(self) -> None: ...

        @gd.task(depends_on=manager)
        def pay(self) -> None: ...

    return Refund


def expire(drive: gd.Drive, clock: ShiftedClock, **options: Any) -> Handle:
    """Let the deadline of an approval pass without a decision."""
    workflow = reach(drive, refund(**options))
    clock.advance(HOUR)
    drain(drive)
    return workflow.reload()


def test_nothing_happens_before_the_deadline(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    workflow = reach(geneva, refund())

    geneva_clock.advance(HOUR - timedelta(seconds=10))
    drain(geneva)

    assert (workflow.reload().state, requests_of(workflow)) == ("paused", [("manager", "pending")])


def test_an_expired_request_counts_as_rejected(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = expire(geneva, geneva_clock)

    assert (workflow.state, decisions) == ("canceled", [EXPIRED])
    assert history(workflow) == [("manager", "completed", "expired")]
    [request] = geneva.approvals.of_workflow(workflow.id)
    assert (request.state, request.decided_by, request.choice) == ("expired", None, None)
    assert request.decided_at is not None


def test_an_expired_request_obeys_on_reject(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    workflow = expire(geneva, geneva_clock, on_reject="continue")

    assert (workflow.state, decisions) == ("finished", [EXPIRED])
    assert history(workflow)[0] == ("manager", "completed", "expired")


def test_an_expired_request_runs_the_task_of_a_rejection(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = expire(geneva, geneva_clock, on_reject="late")

    assert sorted(history(workflow)) == [
        ("late", "completed", "success"),
        ("manager", "completed", "expired"),
        ("pay", "skipped", "skipped_by_branch"),
    ]


def test_a_deadline_may_approve(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    workflow = expire(geneva, geneva_clock, on_timeout="approve")

    assert workflow.state == "finished"
    assert decisions == [gd.ApprovalDecision(approved=True, data=None, expired=True)]
    assert history(workflow)[0] == ("manager", "completed", "expired")
    assert workflow.result_of("manager").approved is True


def test_a_deadline_that_approves_leaves_out_the_task_of_a_rejection(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = expire(geneva, geneva_clock, on_timeout="approve", on_reject="late")

    assert sorted(history(workflow)) == [
        ("late", "skipped", "skipped_by_branch"),
        ("manager", "completed", "expired"),
        ("pay", "completed", "success"),
    ]


def test_a_deadline_may_run_a_task(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    workflow = expire(geneva, geneva_clock, on_timeout="late")

    assert (workflow.state, decisions) == ("finished", [EXPIRED])
    assert sorted(history(workflow)) == [
        ("late", "completed", "success"),
        ("manager", "completed", "expired"),
        ("pay", "skipped", "skipped_by_branch"),
    ]


def test_the_task_of_a_deadline_is_left_out_after_a_decision(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = reach(geneva, refund(on_timeout="late"))

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert sorted(history(workflow)) == [
        ("late", "skipped", "skipped_by_branch"),
        ("manager", "completed", "approved"),
        ("pay", "completed", "success"),
    ]


class Claim(gd.Workflow[Any]):
    """Has a task for each ending."""

    type_name = "test_deadlines.Claim"

    @gd.approval(role="manager", timeout=HOUR, on_timeout="remind", on_reject="apologize")
    def manager(self, decision: Decision) -> None: ...

    @gd.task(depends_on=manager)
    def remind(self) -> None: ...

    @gd.task(depends_on=manager)
    def apologize(self) -> None: ...

    @gd.task(depends_on=manager)
    def pay(self) -> None: ...


@pytest.mark.parametrize(
    ("act", "task"),
    [
        (lambda request, clock: clock.advance(HOUR), "remind"),
        (lambda request, clock: request.reject(by="ann"), "apologize"),
        (lambda request, clock: request.approve(by="ann"), "pay"),
    ],
    ids=["expiry", "rejection", "approval"],
)
def test_each_ending_runs_its_own_task(
    geneva: gd.Drive,
    geneva_clock: ShiftedClock,
    act: Callable[[gd.Approval, ShiftedClock], Any],
    task: str,
) -> None:
    workflow = reach(geneva, Claim)

    act(asked(geneva), geneva_clock)
    drain(geneva)

    done = [step for step, state, _ in history(workflow) if state == "completed"]
    assert done == ["manager", task]
    assert workflow.reload().state == "finished"


def test_a_deadline_may_pause_and_resume_asks_again(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = expire(geneva, geneva_clock, on_timeout="pause")
    assert (workflow.state, workflow.paused_reason, decisions) == ("paused", "expired", [EXPIRED])
    assert (workflow.needs, workflow.paused_step_name) == ("operator", "manager")
    assert history(workflow) == [("manager", "failed", "expired")]

    workflow.resume()
    drain(geneva)
    assert requests_of(workflow) == [("manager", "expired"), ("manager", "pending")]
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert [one.approved for one in decisions] == [False, True]
    assert history(workflow)[:2] == [
        ("manager", "failed", "expired"),
        ("manager", "completed", "approved"),
    ]


def test_a_request_that_is_asked_again_has_a_fresh_deadline(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = expire(geneva, geneva_clock, on_timeout="pause")
    first = next(iter(geneva.approvals.of_workflow(workflow.id)))

    workflow.resume()
    drain(geneva)

    again = asked(geneva)
    assert again.expires_at == again.requested_at + HOUR
    assert again.requested_at >= (first.expires_at or again.requested_at)


def test_an_approval_that_expired_can_be_skipped(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = expire(geneva, geneva_clock, on_timeout="pause")

    workflow.skip()
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert len(decisions) == 1


def test_a_deadline_may_escalate_which_calls_no_body(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = reach(geneva, refund(on_timeout="escalate", escalate_to="director"))
    before = asked(geneva)

    geneva_clock.advance(HOUR)
    drain(geneva)

    escalated = asked(geneva)
    assert (escalated.id, escalated.role, decisions) == (before.id, "director", [])
    assert escalated.expires_at is not None
    assert HOUR <= escalated.expires_at - before.requested_at - HOUR < HOUR + timedelta(minutes=5)
    assert history(workflow) == [("manager", "waiting", None)]
    assert workflow.reload().state == "paused"


def test_an_escalated_request_is_decided_by_its_new_role(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = reach(geneva, refund(on_timeout="escalate", escalate_to="director"))
    geneva_clock.advance(HOUR)
    drain(geneva)

    asked(geneva).approve(by=gd.Actor("dora", roles=["director"]))
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert [one.by for one in decisions] == ["dora"]


def test_the_second_deadline_after_an_escalation_rejects(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = reach(geneva, refund(on_timeout="escalate", escalate_to="director"))

    geneva_clock.advance(HOUR)
    drain(geneva)
    geneva_clock.advance(HOUR)
    drain(geneva)

    assert (workflow.reload().state, decisions) == ("canceled", [EXPIRED])
    assert requests_of(workflow) == [("manager", "expired")]
    assert [entry.command for entry in workflow.audit_entries] == ["escalate", "expire"]


def test_a_request_escalated_by_hand_does_not_escalate_at_its_deadline(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = reach(geneva, refund(on_timeout="escalate", escalate_to="director"))
    asked(geneva).escalate(by="ann")

    geneva_clock.advance(HOUR)
    drain(geneva)

    assert (workflow.reload().state, decisions) == ("canceled", [EXPIRED])


def test_a_request_without_a_deadline_waits_for_years(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    class Refund(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Refund)

    geneva_clock.advance(timedelta(days=3650))
    drain(geneva)

    assert (workflow.reload().state, asked(geneva).expires_at) == ("paused", None)


def test_the_deadlines_of_several_workflows_pass_in_one_round(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow_class = refund(on_reject="continue")
    workflows = [workflow_class.create() for _ in range(5)]
    drain(geneva)

    geneva_clock.advance(HOUR)
    drain(geneva)

    assert [workflow.reload().state for workflow in workflows] == ["finished"] * 5
    assert decisions == [EXPIRED] * 5


def test_two_requests_of_a_workflow_expire_at_once(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    class Purchase(gd.Workflow):
        @gd.approval(role="legal", timeout=HOUR, on_reject="continue")
        def legal(self, decision: Decision) -> None: ...

        @gd.approval(role="finance", timeout=HOUR, on_reject="continue", depends_on=[])
        def finance(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Purchase)

    geneva_clock.advance(HOUR)
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert requests_of(workflow) == [("legal", "expired"), ("finance", "expired")]


def test_an_expired_request_of_a_paused_workflow_is_held_until_resume(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = reach(geneva, refund(on_reject="continue"))
    workflow.pause()

    geneva_clock.advance(HOUR)
    drain(geneva)
    assert (workflow.reload().state, decisions) == ("paused", [])
    assert requests_of(workflow) == [("manager", "expired")]
    workflow.resume()
    drain(geneva)

    assert (workflow.reload().state, decisions) == ("finished", [EXPIRED])
