"""The view of a request: question, deadline, facts, form, choices and votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from geneva_drive.definition.nodes.phrases import from_name, member_of
from geneva_drive.definition.options.approval_terms import REJECT
from geneva_drive.drive.approvals.approval import Approval, ApprovalVote
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.views.execution_bodies import approval_item_body
from geneva_drive.errors import InvalidInput, InvalidRecord, NotFound
from geneva_drive.web.dashboard.decision import votes
from geneva_drive.web.dashboard.decision.fields import FormField, fields_of
from geneva_drive.web.dashboard.decision.question import Question, question_of
from geneva_drive.web.dashboard.decision.shown_values import words
from geneva_drive.web.dashboard.decision.votes import VoteLine

EXPIRE = "expire"


@dataclass(frozen=True, slots=True)
class Choice:
    """A button, with its consequence."""

    value: str
    label: str
    sentence: str
    is_primary: bool
    needs_form: bool  # False for a rejection, which may leave the fields empty


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
    """A request as one reader sees it."""

    approval: Approval
    question: Question
    facts: list[tuple[str, str]]
    fields: list[FormField]
    choices: list[Choice]
    after_deadline: str  # a sentence
    votes: list[VoteLine]
    open_places: list[str]
    comment: str = ""
    fault: str | None = None  # concerns the form as a whole, not one field

    @property
    def deadline(self) -> datetime | None:
        return self.approval.expires_at

    @property
    def agreed(self) -> int:
        """The number of votes for the leading choice."""
        return self.approval.quorum - len(self.open_places)

    @property
    def has_votes(self) -> bool:
        return bool(self.votes) or self.approval.quorum > 1

    @property
    def role_words(self) -> str | None:
        role = self.approval.role
        if role is None:
            return None
        return member_of(role)


@dataclass(frozen=True, slots=True)
class Sent:
    """A form that was sent and refused: its values, and the error with the faults."""

    filled: Mapping[str, str]
    error: InvalidInput

    def faults(self, known: Sequence[str]) -> tuple[dict[str, str], str | None]:
        """Return the fault of each field, and one sentence about all other faults."""
        if not isinstance(self.error, InvalidRecord):
            return {}, str(self.error)
        by_field: dict[str, str] = {}
        others: list[str] = []
        for one in self.error.faults:
            name = one.path.removeprefix("$").lstrip(".").replace("[", ".").partition(".")[0]
            if name in known:
                by_field.setdefault(name, _sentence(one.message))
            else:
                others.append(f"{one.path}: {one.message}" if one.path else one.message)
        told = _sentence("; ".join(others)) if others else None
        return by_field, told


def view_of(
    approval: Approval, reader: str | None, *, sent: Sent | None = None, prefix: str = ""
) -> RequestView:
    """Return the view for one reader; with `sent`, the form keeps its values and shows faults."""
    found = approval.what_if(reader=reader)
    given = approval.votes
    fields, fault = _fields(approval, sent, prefix)
    expiry = next((one.sentence for one in found if one.command == EXPIRE), "")
    return RequestView(
        approval=approval,
        question=question_of(approval.title, approval.step_name),
        facts=[(name, words(value)) for name, value in _facts(approval)],
        fields=fields,
        choices=_choices(approval, found),
        after_deadline=expiry,
        votes=votes.vote_lines(given),
        open_places=_open_places(approval, given, reader),
        comment="" if sent is None else sent.filled.get("comment", ""),
        fault=fault,
    )


def _open_places(
    approval: Approval, given: Sequence[ApprovalVote], reader: str | None
) -> list[str]:
    has_voted = any(one.by == reader for one in given)
    return votes.open_places(approval, given, may_change=has_voted)


def _fields(
    approval: Approval, sent: Sent | None, prefix: str
) -> tuple[list[FormField], str | None]:
    try:
        if sent is None:
            return fields_of(approval, prefix=prefix), None
        known = list(approval.form_schema().get("properties", {}))
        by_field, fault = sent.faults(known)
        return fields_of(approval, sent.filled, by_field, prefix), fault
    except NotFound as error:
        return [], str(error)


def _facts(approval: Approval) -> list[tuple[str, object]]:
    return list(approval_item_body(approval)["facts"].items())


def _choices(approval: Approval, found: Sequence[Consequence]) -> list[Choice]:
    known = {one.command: one for one in found}
    return [
        Choice(
            value=choice,
            label=known[choice].label if choice in known else _label(choice),
            sentence=known[choice].sentence if choice in known else "",
            is_primary=place == 0 and choice != REJECT,
            needs_form=choice != REJECT,
        )
        for place, choice in enumerate(approval.choices)
    ]


def _label(choice: str) -> str:
    plain = from_name(choice)
    return plain[:1].upper() + plain[1:]


def _sentence(text: str) -> str:
    begun = text[:1].upper() + text[1:]
    return begun if begun.endswith((".", "?", "!")) else f"{begun}."
