"""Votes, quorums, and who may decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, asked, everything_stored, reach

seen: list[Decision] = []


@pytest.fixture(autouse=True)
def _none_seen() -> None:
    seen.clear()


@dataclass
class Amount:
    euros: int = 0


def refund(**options: Any) -> type[gd.Workflow[Any]]:
    named: dict[str, Any] = {} if "approvers" in options else {"role": "manager"}

    class Refund(gd.Workflow):
        @gd.approval(on_reject="continue", **named, **options)
        def manager(self, decision: Decision) -> None:
            seen.append(decision)

    return Refund


def votes(approval: gd.Approval) -> list[tuple[str, str]]:
    return [(vote.by, vote.choice) for vote in approval.votes]


def audit(workflow: Handle) -> list[tuple[str, str | None, str | None]]:
    return [(e.command, e.actor, e.reason) for e in workflow.audit_entries]


def test_a_quorum_needs_that_many_people(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund(quorum=2))

    first = asked(geneva).approve(by="ann", comment="Fine.")
    assert (first.state, workflow.reload().state) == ("pending", "paused")
    second = asked(geneva).approve(by="bob")
    drain(geneva)

    assert (second.state, second.decided_by) == ("approved", "bob")
    assert votes(second) == [("ann", "approve"), ("bob", "approve")]
    assert workflow.reload().state == "finished"
    assert [one.by for one in seen] == ["bob"]
    assert audit(workflow) == [("approve", "ann", "Fine."), ("approve", "bob", None)]


def test_a_person_counts_once(geneva: gd.Drive) -> None:
    reach(geneva, refund(quorum=2))

    asked(geneva).approve(by="ann")
    again = asked(geneva).approve(by="ann", comment="As I said.")

    assert (again.state, votes(again)) == ("pending", [("ann", "approve")])
    assert [vote.comment for vote in again.votes] == ["As I said."]


def test_a_changed_mind_replaces_the_vote(geneva: gd.Drive) -> None:
    reach(geneva, refund(quorum=2, reject_quorum=2))

    asked(geneva).approve(by="ann")
    asked(geneva).reject(by="ann")
    one_each = asked(geneva).approve(by="bob")
    assert (one_each.state, sorted(votes(one_each))) == (
        "pending",
        [("ann", "reject"), ("bob", "approve")],
    )
    asked(geneva).approve(by="ann")

    assert geneva.approvals.get(one_each.id).state == "approved"


def test_a_rejection_needs_its_own_quorum(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund(quorum=1, reject_quorum=2))

    asked(geneva).reject(by="ann")
    rejected = asked(geneva).reject(by="bob", comment="No.")
    drain(geneva)

    assert (rejected.state, rejected.choice, rejected.comment) == ("rejected", "reject", "No.")
    assert workflow.reload().state == "finished"
    assert [(one.approved, one.by) for one in seen] == [(False, "bob")]


def test_one_rejection_outweighs_a_quorum_that_is_not_complete(geneva: gd.Drive) -> None:
    reach(geneva, refund(quorum=3))

    asked(geneva).approve(by="ann")
    asked(geneva).approve(by="bob")

    assert asked(geneva).reject(by="cleo").state == "rejected"


def test_votes_count_per_choice(geneva: gd.Drive) -> None:
    reach(geneva, refund(quorum=2, choices=("all", "half", "reject")))

    asked(geneva).decide("all", by="ann")
    assert asked(geneva).decide("half", by="bob").state == "pending"
    decided = asked(geneva).decide("half", by="cleo")

    assert (decided.state, decided.choice) == ("approved", "half")


def test_the_data_is_that_of_the_vote_that_completes_the_quorum(geneva: gd.Drive) -> None:
    reach(geneva, refund(quorum=2, form=Amount))

    asked(geneva).approve(by="ann", data={"euros": 5})
    decided = asked(geneva).approve(by="bob", data={"euros": 6})
    drain(geneva)

    assert decided.data == {"euros": 6}
    assert [vote.data for vote in decided.votes] == [{"euros": 5}, {"euros": 6}]
    assert [one.data for one in seen] == [Amount(6)]


ROLE = gd.Actor("ann", roles=["clerk", "manager"])
NO_ROLE = gd.Actor("ann", roles=["clerk"])


def test_an_actor_with_the_role_may_decide(geneva: gd.Drive) -> None:
    reach(geneva, refund())

    assert asked(geneva).approve(by=ROLE).decided_by == "ann"


def test_a_text_is_trusted_code_and_needs_no_role(geneva: gd.Drive) -> None:
    reach(geneva, refund(approvers=["bob"]))

    assert asked(geneva).approve(by="ann").decided_by == "ann"


def test_an_actor_that_is_named_may_decide(geneva: gd.Drive) -> None:
    reach(geneva, refund(approvers=["ann", "bob"]))

    assert asked(geneva).reject(by=gd.Actor("bob")).state == "rejected"


COMMANDS: dict[str, Any] = {
    "approve": lambda request, by: request.approve(by=by),
    "reject": lambda request, by: request.reject(by=by),
    "escalate": lambda request, by: request.escalate(to="director", by=by),
    "delegate": lambda request, by: request.delegate(to="eve", by=by),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_actor_without_the_role_is_refused_and_on_record(geneva: gd.Drive, command: str) -> None:
    workflow = reach(geneva, refund())
    request, before = asked(geneva), everything_stored(geneva)

    with pytest.raises(gd.errors.NotPermitted) as refused:
        COMMANDS[command](request, NO_ROLE)

    words = f"'ann' does not have the role 'manager' of approval {request.id}."
    assert str(refused.value) == words
    assert audit(workflow) == [(command, "ann", f"refused: {words}")]
    assert [entry.command for entry in request.history] == [command]
    after = everything_stored(geneva)
    assert [name for name in after if after[name] != before[name]] == ["geneva_drive_audit_entries"]


def test_an_actor_that_is_not_named_is_refused_and_on_record(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund(approvers=["ann", "bob"]))
    request = asked(geneva)

    with pytest.raises(gd.errors.NotPermitted) as refused:
        request.approve(by=gd.Actor("eve", roles=["manager"]))

    words = f"'eve' is not an approver of approval {request.id}. Its approvers are: ann, bob."
    assert str(refused.value) == words
    assert audit(workflow) == [("approve", "eve", f"refused: {words}")]
    assert request.reload().state == "pending"


@pytest.mark.parametrize("by", ["ann", ROLE], ids=["text", "actor"])
def test_who_started_the_workflow_may_not_decide_where_that_is_denied(
    geneva: gd.Drive, by: Any
) -> None:
    workflow = reach(geneva, refund(deny_self=True), actor="ann")
    request = asked(geneva)

    with pytest.raises(gd.errors.NotPermitted) as refused:
        request.approve(by=by)

    assert str(refused.value) == (
        f"'ann' started workflow {workflow.id}, and its approval 'manager' does not let people "
        f"decide on their own request (deny_self). Ask another person."
    )
    assert request.refusal_of(by) == str(refused.value)
    assert request.refusal_of("bob") is None
    assert request.reload().state == "pending"
    assert asked(geneva).approve(by="bob").state == "approved"


def test_who_started_the_workflow_may_decide_otherwise(geneva: gd.Drive) -> None:
    reach(geneva, refund(), actor="ann")

    assert asked(geneva).approve(by="ann").state == "approved"


def test_a_workflow_started_by_nobody_denies_nobody(geneva: gd.Drive) -> None:
    reach(geneva, refund(deny_self=True))

    assert asked(geneva).approve(by="ann").state == "approved"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "decide() needs by=..., the person who does it."),
        ({"by": 5}, "decide(by=...) must be text or a gd.Actor, got 5."),
        ({"by": ""}, "decide(by=...) must not be empty."),
        ({"by": "a" * 256}, "decide(by=...) must be at most 255 characters long, got 256."),
        ({"by": "ann", "comment": 5}, "decide(comment=...) must be text, got 5."),
        (
            {"by": "ann", "comment": "x" * 1_048_577},
            "decide(comment=...) must be at most 1,048,576 characters long, got 1,048,577. The "
            "limit is the setting max_payload_size.",
        ),
    ],
    ids=["nobody", "number", "empty", "long", "comment", "long comment"],
)
def test_an_ill_formed_decision_is_refused_and_nothing_changes(
    geneva: gd.Drive, given: dict[str, Any], words: str
) -> None:
    reach(geneva, refund())
    request, before = asked(geneva), everything_stored(geneva)

    with pytest.raises(gd.errors.InvalidInput) as refused:
        request.approve(**given)

    assert str(refused.value) == words
    assert everything_stored(geneva) == before


def test_a_choice_that_there_is_not_is_refused(geneva: gd.Drive) -> None:
    reach(geneva, refund(choices=("all", "half", "reject")))
    request, before = asked(geneva), everything_stored(geneva)

    with pytest.raises(gd.errors.InvalidInput) as refused:
        request.approve(by="ann")

    assert str(refused.value) == (
        f"Approval {request.id} has no choice 'approve'. Its choices are: 'all', 'half', 'reject'."
    )
    assert everything_stored(geneva) == before


def test_data_that_is_too_large_is_refused(geneva: gd.Drive) -> None:
    reach(geneva, refund())
    request, before = asked(geneva), everything_stored(geneva)

    with pytest.raises(gd.errors.PayloadTooLarge):
        request.approve(by="ann", data={"text": "x" * 1_048_577})

    assert everything_stored(geneva) == before


def test_a_comment_may_be_long_and_in_any_script(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund())
    comment = "Genehmigt ✓ 承認 " * 200

    decided = asked(geneva).approve(by="安 <ann@example.org>", comment=comment)
    drain(geneva)

    assert (decided.comment, decided.decided_by) == (comment, "安 <ann@example.org>")
    assert workflow.result_of("manager").comment == comment


def test_people_whose_names_differ_only_in_case_are_two(geneva: gd.Drive) -> None:
    reach(geneva, refund(quorum=2))

    asked(geneva).approve(by="ann")
    decided = asked(geneva).approve(by="Ann")

    assert (decided.state, len(decided.votes)) == ("approved", 2)
