"""What is on record of decisions: audit entries and requests to resume."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, StandingClock, asked, reach

HOUR = timedelta(hours=1)


class Refund(gd.Workflow[Any]):
    type_name = "test_approval_records.Refund"

    @gd.approval(
        role="manager", timeout=HOUR, on_timeout="pause", choices=("approve", "half", "reject")
    )
    def manager(self, decision: Decision) -> None: ...

    @gd.step
    def pay(self) -> None: ...


def on_record(workflow: Handle) -> list[tuple[Any, ...]]:
    """Return the requests to resume, without their times."""
    return [(r.trigger, r.trigger_id, r.actor, r.data, r.error) for r in workflow.resume_requests]


def test_a_decision_is_one_request_to_resume(geneva: gd.Drive, clock: StandingClock) -> None:
    workflow = reach(geneva, Refund)
    clock.advance(timedelta(minutes=5))

    request = asked(geneva).approve(by="ann", comment="Fine.", data={"euros": 5})

    data = {"choice": "approve", "comment": "Fine.", "data": {"euros": 5}}
    assert on_record(workflow) == [("approval", str(request.id), "ann", data, None)]
    [resumed] = workflow.resume_requests
    assert (resumed.requested_at, resumed.executed_at) == (clock.moment, clock.moment)
    assert request.decided_at == clock.moment


@pytest.mark.parametrize(
    ("choice", "comment", "command", "reason"),
    [
        ("approve", None, "approve", None),
        ("approve", "Fine.", "approve", "Fine."),
        ("reject", "No.", "reject", "No."),
        ("half", None, "decide", "half"),
        ("half", "Only once.", "decide", "half: Only once."),
    ],
)
def test_a_decision_is_one_audit_entry(
    geneva: gd.Drive, choice: str, comment: str | None, command: str, reason: str | None
) -> None:
    workflow = reach(geneva, Refund)

    request = asked(geneva).decide(choice, by="ann", comment=comment)
    drain(geneva)

    [entry] = workflow.audit_entries
    assert (entry.command, entry.actor, entry.reason) == (command, "ann", reason)
    assert entry.at == request.decided_at
    assert request.history == [entry]


def test_a_deadline_is_one_request_to_resume_and_one_audit_entry(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Refund)
    key = asked(geneva).id
    clock.advance(HOUR)

    drain(geneva)

    assert on_record(workflow) == [("timeout", str(key), None, {"expired": True}, None)]
    [entry] = workflow.audit_entries
    assert (entry.command, entry.actor, entry.reason) == ("expire", None, None)
    assert entry.at == clock.moment
    assert geneva.approvals.get(key).history == [entry]


def test_resume_by_hand_is_a_request_to_resume(geneva: gd.Drive, clock: StandingClock) -> None:
    workflow = reach(geneva, Refund).pause()

    workflow.resume(actor="olga", data={"note": "checked"})

    assert on_record(workflow) == [("manual", "olga", "olga", {"note": "checked"}, None)]
    [resumed] = workflow.resume_requests
    assert (resumed.requested_at, resumed.executed_at) == (clock.moment, clock.moment)


def test_a_decision_on_a_paused_workflow_is_executed_by_resume(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Refund).pause()
    asked(geneva).approve(by="ann")
    decided_at = clock.moment
    [held] = workflow.resume_requests
    assert (held.requested_at, held.executed_at, held.error) == (decided_at, None, None)

    clock.advance(timedelta(minutes=5))
    workflow.resume(actor="olga")

    assert [(r.trigger, r.requested_at, r.executed_at) for r in workflow.resume_requests] == [
        ("approval", decided_at, clock.moment),
        ("manual", clock.moment, clock.moment),
    ]


def test_a_decision_on_a_workflow_that_is_then_canceled_is_on_record_as_without_effect(
    geneva: gd.Drive,
) -> None:
    workflow = reach(geneva, Refund).pause()
    asked(geneva).approve(by="ann")

    workflow.cancel()

    [request] = workflow.resume_requests
    assert (request.executed_at, request.error) == (
        None,
        "Its execution was canceled or skipped before the workflow continued.",
    )


def test_resuming_at_a_step_is_a_request_to_resume(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)

    workflow.resume_at("pay", actor="olga")

    assert on_record(workflow) == [("manual", "olga", "olga", None, None)]


def test_a_vote_that_decides_nothing_resumes_nothing(geneva: gd.Drive) -> None:
    class Two(gd.Workflow):
        @gd.approval(role="manager", quorum=2)
        def manager(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Two)

    asked(geneva).approve(by="ann")

    assert workflow.resume_requests == []
    assert [(e.command, e.actor) for e in workflow.audit_entries] == [("approve", "ann")]


def test_a_refused_resume_is_no_request(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)

    with pytest.raises(gd.errors.InvalidStateError):
        workflow.resume()

    assert (workflow.resume_requests, workflow.audit_entries) == ([], [])


def test_pruning_removes_all_that_belongs_to_requests(linked: gd.Drive) -> None:
    linked.clock = clock = StandingClock()
    workflow = reach(linked, Refund)
    request = asked(linked)
    request.link(for_="ann")
    request.delegate(to="eve", by="ann")
    request.approve(by="eve")
    drain(linked)
    assert workflow.reload().state == "finished"

    clock.advance(timedelta(days=2))
    linked.prune(older_than=timedelta(days=1))

    tables = linked.store.tables
    emptied = [
        tables.approvals,
        tables.approval_people,
        tables.approval_links,
        tables.resume_requests,
        tables.audit_entries,
    ]
    with linked.store.reading() as connection:
        assert [connection.execute(table.select()).all() for table in emptied] == [[]] * 5


def test_pruning_leaves_what_waits(geneva: gd.Drive, clock: StandingClock) -> None:
    class Patient(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Patient)
    clock.advance(timedelta(days=1000))

    geneva.prune(older_than=timedelta(days=1))

    assert asked(geneva).workflow_id == workflow.id
