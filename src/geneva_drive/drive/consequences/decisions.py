"""What the choices of an approval, and its deadline, would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from geneva_drive.definition.definition import Node
from geneva_drive.definition.nodes.approval import branches
from geneva_drive.definition.nodes.phrases import from_name, member_of
from geneva_drive.definition.options.approval_terms import REJECT, OnReject, OnTimeout
from geneva_drive.drive.consequences import document_decisions
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.sentence_parts import phrases, will
from geneva_drive.drive.consequences.walk import NOTHING, Ahead, walk
from geneva_drive.drive.consequences.what_if_facts import Situation
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord, PersonRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """A pending request, its votes, and the person who reads the page."""

    approval: ApprovalRecord
    people: Sequence[PersonRecord] = ()
    reader: str | None = None
    holds_afterwards: bool = False  # the setting auto_resume_after_approval is off

    def votes_with(self, choice: str) -> int:
        """Return how many votes a choice has once the reader has voted for it."""
        others = [
            one.person
            for one in self.people
            if one.choice == choice and one.voted_at is not None and one.person != self.reader
        ]
        return len(others) + 1


def decisions(situation: Situation, ballot: Ballot) -> Iterator[Consequence]:
    """Yield what each choice, and the deadline, would do."""
    approval = ballot.approval
    for choice in approval.choice_list:
        yield _choice(situation, ballot, choice)
    if approval.expires_at is not None:
        yield _expiry(situation, ballot)


def _choice(situation: Situation, ballot: Ballot, choice: str) -> Consequence:
    approval, node = ballot.approval, _node(situation, ballot.approval)
    is_rejection = choice == REJECT
    count, needed = _count(ballot, choice)
    ahead, never, sentence = _effect(situation, node, is_rejection=is_rejection, is_expired=False)
    if count < needed:
        noun = "reject" if is_rejection else "agree"
        sentence = f"When {needed} {noun}: {_lowercase_first(sentence)}"
    parts = [_quorum_words(ballot, choice), sentence, _when_held(situation, ballot)]
    return Consequence(
        command=choice,
        node=approval.step_name,
        label=_label(choice),
        sentence=" ".join(filter(None, parts)),
        runs_next=ahead.next,
        runs_later=ahead.later,
        may_run=ahead.perhaps,
        never_runs=never,
        approval_id=approval.id,
        is_dangerous=is_rejection,
    )


def _count(ballot: Ballot, choice: str) -> tuple[int, int]:
    approval = ballot.approval
    needed = approval.reject_quorum if choice == REJECT else approval.quorum
    return ballot.votes_with(choice), needed


def _quorum_words(ballot: Ballot, choice: str) -> str:
    approval = ballot.approval
    count, needed = _count(ballot, choice)
    if needed == 1:
        is_easier = choice == REJECT and approval.quorum > 1
        return "One rejection is enough." if is_easier else ""
    vote = "With your vote" if ballot.reader is not None else "With one more vote"
    verb = "reject" if choice == REJECT else "agree"
    return f"{vote}, {min(count, needed)} of {needed} {verb}."


def _label(choice: str) -> str:
    words = from_name(choice)
    return words[:1].upper() + words[1:]


def _lowercase_first(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _when_held(situation: Situation, ballot: Ballot) -> str:
    is_held = situation.workflow.state is WorkflowState.PAUSED
    if is_held or ballot.holds_afterwards:
        return "It takes effect when an operator resumes the workflow."
    return ""


def _effect(
    situation: Situation, node: Node | None, *, is_rejection: bool, is_expired: bool
) -> tuple[Ahead, tuple[str, ...], str]:
    """Return what follows, what never runs, and the sentence for people."""
    if node is None or situation.definition is None:
        return (
            NOTHING,
            (),
            "The workflow is canceled." if is_rejection else "The workflow goes on.",
        )
    if situation.document is not None:
        return document_decisions.effect(
            situation,
            situation.document,
            node.name,
            is_rejection=is_rejection,
            is_expired=is_expired,
        )
    terms = node.terms
    node_id = node.name
    chosen = branches(situation.definition, node, rejected=is_rejection, expired=is_expired)
    ahead = walk(situation, done=[node_id], chosen={node_id: chosen})
    is_named = is_expired and terms.on_timeout is OnTimeout.TASK
    if is_rejection and terms.on_reject is OnReject.CANCEL and not is_named:
        never = tuple(each for each in situation.never_started() if each != node_id)
        return NOTHING, never, _canceling(situation, node_id)
    if is_rejection and terms.on_reject is OnReject.CONTINUE and not is_named:
        return ahead, ahead.passed_over, f"Goes on all the same. {will(situation, ahead)}"
    return ahead, ahead.passed_over, will(situation, ahead)


def _canceling(situation: Situation, node_id: str) -> str:
    """Return a sentence about a rejection, which names the steps that an approval would run."""
    approved = walk(situation, done=[node_id], chosen=_if_approved(situation, node_id))
    found = phrases(situation, approved)
    if not found:
        return "Cancels the workflow."
    return f"Cancels the workflow: it will not {', nor '.join(found)}."


def _if_approved(situation: Situation, node_id: str) -> dict[str, tuple[str, ...] | None]:
    node = situation.declared(node_id)
    assert node is not None, "the caller has it"
    assert situation.definition is not None, "the caller has it"
    return {node_id: branches(situation.definition, node, rejected=False, expired=False)}


def _expiry(situation: Situation, ballot: Ballot) -> Consequence:
    approval, node = ballot.approval, _node(situation, ballot.approval)
    if approval.escalates_on_timeout and approval.escalation_count == 0:
        return _expiring(approval, f"After that {_a_role(approval.escalate_to)} is asked.")
    if node is None:
        return _expiring(approval, "After that it expires.")
    if situation.document is not None:
        ahead, never, words = _effect(situation, node, is_rejection=True, is_expired=True)
        return _expiring(approval, f"After that {_lowercase_first(words)}", ahead, never)
    on_timeout = node.terms.on_timeout
    match on_timeout:
        case OnTimeout.PAUSE:
            sentence = "After that the workflow pauses until an operator resumes or skips it."
            return _expiring(approval, sentence)
        case OnTimeout.APPROVE:
            ahead, never, words = _effect(situation, node, is_rejection=False, is_expired=True)
            sentence = f"After that it counts as approved. {words}"
        case OnTimeout.TASK:
            ahead, never, words = _effect(situation, node, is_rejection=True, is_expired=True)
            sentence = f"After that {_lowercase_first(words)}"
        case OnTimeout.REJECT | OnTimeout.ESCALATE:  # it was escalated already
            ahead, never, words = _effect(situation, node, is_rejection=True, is_expired=True)
            sentence = f"After that it counts as rejected. {words}"
        case _:
            assert_never(on_timeout)
    return _expiring(approval, sentence, ahead, never)


def _expiring(
    approval: ApprovalRecord,
    sentence: str,
    ahead: Ahead = NOTHING,
    never: tuple[str, ...] = (),
) -> Consequence:
    return Consequence(
        command="expire",
        node=approval.step_name,
        label="Deadline",
        sentence=sentence,
        runs_next=ahead.next,
        runs_later=ahead.later,
        may_run=ahead.perhaps,
        never_runs=never,
        approval_id=approval.id,
    )


def _a_role(role: str | None) -> str:
    return member_of(role) if role else "another role"


def _node(situation: Situation, approval: ApprovalRecord) -> Node | None:
    node = situation.declared(approval.step_name)
    return node if node is not None and node.is_approval else None
