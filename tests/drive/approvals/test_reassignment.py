"""Requests that are passed on: delegated to a person, or escalated to a role."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, StandingClock, asked, everything_stored, reach

HOUR = timedelta(hours=1)
MANAGER = gd.Actor("ann", roles=["manager"])


def refund(**options: Any) -> type[gd.Workflow[Any]]:
    named: dict[str, Any] = {} if "approvers" in options else {"role": "manager"}

    class Refund(gd.Workflow):
        @gd.approval(**named, **options)
        def manager(self, decision: Decision) -> None: ...

    return Refund


def audit(workflow: Handle) -> list[tuple[str, str | None, str | None]]:
    return [(e.command, e.actor, e.reason) for e in workflow.audit_entries]


def test_a_delegate_may_decide_whatever_their_roles(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund())

    delegated = asked(geneva).delegate(to="eve", by=MANAGER)
    assert (delegated.state, delegated.role) == ("pending", "manager")
    decided = asked(geneva).approve(by=gd.Actor("eve"))
    drain(geneva)

    assert (decided.decided_by, workflow.reload().state) == ("eve", "finished")
    assert audit(workflow) == [("delegate", "ann", "to eve"), ("approve", "eve", None)]


@pytest.mark.parametrize("by", ["ann", MANAGER], ids=["text", "actor"])
def test_who_has_delegated_may_no_longer_decide(geneva: gd.Drive, by: Any) -> None:
    reach(geneva, refund())
    request = asked(geneva).delegate(to="eve", by="ann")

    with pytest.raises(gd.errors.NotPermitted) as refused:
        request.approve(by=by)

    assert str(refused.value) == (
        f"'ann' has delegated approval {request.id} and can no longer decide it. Ask the delegate."
    )
    assert request.reload().state == "pending"


def test_others_with_the_role_may_still_decide_what_one_has_delegated(geneva: gd.Drive) -> None:
    reach(geneva, refund())

    request = asked(geneva).delegate(to="eve", by=MANAGER)

    assert request.approve(by=gd.Actor("bob", roles=["manager"])).decided_by == "bob"


def test_the_vote_of_who_delegates_no_longer_counts(geneva: gd.Drive) -> None:
    reach(geneva, refund(quorum=2))
    asked(geneva).approve(by="ann")

    delegated = asked(geneva).delegate(to="eve", by="ann")
    assert delegated.votes == []
    asked(geneva).approve(by="eve")

    assert asked(geneva).approve(by="bob").state == "approved"


def test_a_delegate_may_delegate_again_and_back(geneva: gd.Drive) -> None:
    reach(geneva, refund())

    asked(geneva).delegate(to="eve", by=MANAGER)
    asked(geneva).delegate(to="ann", by=gd.Actor("eve"))

    with pytest.raises(gd.errors.NotPermitted):
        asked(geneva).approve(by="eve")
    assert asked(geneva).approve(by=gd.Actor("ann")).decided_by == "ann"


def test_delegates_find_the_request_and_delegators_do_not(geneva: gd.Drive) -> None:
    reach(geneva, refund(approvers=["ann"]))
    request = asked(geneva)

    request.delegate(to="eve", by="ann")

    assert geneva.approvals.pending(person="eve").ids() == [request.id]
    assert geneva.approvals.pending(person="ann").ids() == []


def test_named_approvers_stay_on_record_after_a_delegation(geneva: gd.Drive) -> None:
    reach(geneva, refund(approvers=["ann"]))

    delegated = asked(geneva).delegate(to="eve", by="ann")

    assert delegated.approvers == ("ann",)
    assert [(e.command, e.actor, e.reason) for e in delegated.history] == [
        ("delegate", "ann", "to eve")
    ]


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("ann", "delegate(to=...) must name another person than 'ann'."),
        ("bob", "'bob' may decide approval {id} already. Delegate to another person."),
        (
            "sam",
            "'sam' started workflow {workflow_id}, and this approval does not let people decide on "
            "their own request (deny_self). Delegate to another person.",
        ),
        ("", "delegate(to=...) must not be empty."),
        (5, "delegate(to=...) must be text, got 5."),
    ],
    ids=["oneself", "an approver", "who started it", "nobody", "a number"],
)
def test_a_delegate_who_could_not_decide_is_refused(geneva: gd.Drive, to: Any, words: str) -> None:
    workflow = reach(geneva, refund(approvers=["ann", "bob"], deny_self=True), actor="sam")
    request, before = asked(geneva), everything_stored(geneva)

    with pytest.raises(gd.errors.InvalidInput) as refused:
        request.delegate(to=to, by="ann")

    assert str(refused.value) == words.format(id=request.id, workflow_id=workflow.id)
    assert everything_stored(geneva) == before


def test_an_escalation_asks_another_role_with_a_fresh_deadline(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, refund(timeout=HOUR, escalate_to="director"))
    before = asked(geneva)
    clock.advance(timedelta(minutes=30))

    escalated = before.escalate(by="ann")

    assert (escalated.role, escalated.state) == ("director", "pending")
    assert escalated.expires_at == clock.moment + HOUR
    assert escalated.requested_at == clock.moment - timedelta(minutes=30)
    assert audit(workflow) == [("escalate", "ann", "to role 'director'")]
    assert geneva.approvals.pending(role="director").ids() == [escalated.id]
    assert geneva.approvals.pending(role="manager").ids() == []


@pytest.mark.parametrize(
    "timeout",
    [timedelta(days=30, seconds=1), timedelta(days=400, microseconds=1), timedelta(hours=1.7)],
    ids=str,
)
def test_the_fresh_deadline_is_as_far_away_as_the_first(
    geneva: gd.Drive, clock: StandingClock, timeout: timedelta
) -> None:
    reach(geneva, refund(timeout=timeout, escalate_to="director"))

    assert asked(geneva).escalate(by="ann").expires_at == clock.moment + timeout


def test_an_escalation_may_name_the_role(geneva: gd.Drive) -> None:
    reach(geneva, refund(escalate_to="director"))

    assert asked(geneva).escalate(to="board", by="ann").role == "board"


def test_an_escalation_without_a_role_is_refused(geneva: gd.Drive) -> None:
    reach(geneva, refund())
    request, before = asked(geneva), everything_stored(geneva)

    with pytest.raises(gd.errors.InvalidStateError) as refused:
        request.escalate(by="ann")

    assert str(refused.value) == (
        f"Cannot escalate approval {request.id}: it has no escalate_to. Name the role with to=."
    )
    assert everything_stored(geneva) == before


def test_an_escalation_clears_the_votes(geneva: gd.Drive) -> None:
    reach(geneva, refund(quorum=2, escalate_to="director"))
    asked(geneva).approve(by="ann")

    escalated = asked(geneva).escalate(by="ann")

    assert escalated.votes == []
    assert escalated.approve(by="dora").state == "pending"
    assert escalated.approve(by="ann").state == "approved"


def test_the_former_role_may_not_decide_what_was_escalated(geneva: gd.Drive) -> None:
    reach(geneva, refund(escalate_to="director"))
    request = asked(geneva).escalate(by=MANAGER)

    with pytest.raises(gd.errors.NotPermitted) as refused:
        request.approve(by=MANAGER)

    assert str(refused.value) == (
        f"'ann' does not have the role 'director' of approval {request.id}."
    )
    assert request.approve(by=gd.Actor("dora", roles=["director"])).state == "approved"


def test_named_approvers_may_not_decide_what_was_escalated(geneva: gd.Drive) -> None:
    reach(geneva, refund(approvers=["ann", "bob"], escalate_to="director"))

    request = asked(geneva).escalate(by="ann")

    assert request.approvers == ()
    assert geneva.approvals.pending(person="bob").ids() == []
    with pytest.raises(gd.errors.NotPermitted):
        request.approve(by=gd.Actor("bob"))


def test_delegates_may_not_decide_what_was_escalated(geneva: gd.Drive) -> None:
    reach(geneva, refund(escalate_to="director"))
    asked(geneva).delegate(to="eve", by="ann")

    request = asked(geneva).escalate(by=gd.Actor("bob", roles=["manager"]))

    with pytest.raises(gd.errors.NotPermitted):
        request.approve(by=gd.Actor("eve"))


def test_who_had_delegated_may_decide_after_an_escalation_to_their_role(geneva: gd.Drive) -> None:
    reach(geneva, refund(escalate_to="director"))
    asked(geneva).delegate(to="eve", by="ann")

    request = asked(geneva).escalate(by="bob")

    assert request.approve(by=gd.Actor("ann", roles=["director"])).decided_by == "ann"


def test_a_request_without_a_deadline_has_none_after_an_escalation(geneva: gd.Drive) -> None:
    reach(geneva, refund(escalate_to="director"))

    assert asked(geneva).escalate(by="ann").expires_at is None


def test_a_request_may_be_escalated_by_hand_more_than_once(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund(escalate_to="director"))

    asked(geneva).escalate(by="ann")
    asked(geneva).escalate(to="board", by="dora")

    assert asked(geneva).role == "board"
    assert [reason for _, _, reason in audit(workflow)] == [
        "to role 'director'",
        "to role 'board'",
    ]


def test_an_escalation_shows_in_the_history_of_the_request(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund(escalate_to="director"))
    request = asked(geneva)
    workflow.pause(actor="olga")

    request.escalate(by="ann")
    request.approve(by="dora", comment="Fine.")

    assert [(e.command, e.actor, e.reason) for e in request.history] == [
        ("escalate", "ann", "to role 'director'"),
        ("approve", "dora", "Fine."),
    ]
