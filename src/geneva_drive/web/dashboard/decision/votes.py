"""The votes of a request, those that are missing, and its history."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from geneva_drive.definition.nodes.phrases import from_name, members_of
from geneva_drive.definition.options.approval_terms import APPROVE, REJECT
from geneva_drive.drive.approvals.approval import Approval, ApprovalVote
from geneva_drive.storage.schema.records import AuditRecord
from geneva_drive.web.dashboard.decision.shown_values import words

_REFUSED = "refused: "
_PAST = {APPROVE: "approved", REJECT: "rejected"}
_GLYPHS = {"link": "link", "delegate": "right", "escalate": "right", "expire": "scheduled"}


@dataclass(frozen=True, slots=True)
class VoteLine:
    """The vote of one person."""

    name: str
    verb: str
    comment: str | None
    at: datetime
    values: str | None


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """An action on the request, or a refused attempt at one."""

    words: str
    at: datetime
    glyph: str
    comment: str | None = None


def past(choice: str | None) -> str:
    """Return the verb for a choice in the past tense, such as "approved"."""
    return _PAST.get(choice or "", f"chose “{from_name(choice or '')}”")


def vote_lines(votes: Sequence[ApprovalVote]) -> list[VoteLine]:
    return [
        VoteLine(one.by, past(one.choice), one.comment, one.at, _values(one.stored_data))
        for one in votes
    ]


def missing_count(approval: Approval, votes: Sequence[ApprovalVote]) -> int:
    """Return how many votes the leading choice still needs."""
    counts = Counter(one.choice for one in votes if one.choice != REJECT)
    return max(approval.quorum - max(counts.values(), default=0), 0)


def open_places(approval: Approval, votes: Sequence[ApprovalVote], may_change: bool) -> list[str]:
    """Return a sentence for each vote that is missing."""
    missing = missing_count(approval, votes)
    who = members_of(approval.role or "person", 1)
    more = "One more" if votes else "One"
    sentences = [f"{more} {who}."] * missing
    if sentences and may_change:
        sentences[-1] += " You may change your vote until then."
    return sentences


def history_lines(approval: Approval) -> list[HistoryLine]:
    """Return the history, newest first, with refused attempts."""
    done = [_line(one) for one in approval.history]
    asked = HistoryLine(f"Asked {asked_of(approval)}", approval.requested_at, "person")
    return [*reversed(done), asked]


def asked_of(approval: Approval) -> str:
    """Return the people who are asked, in the plural."""
    if approval.role is not None:
        return members_of(approval.role)
    return ", ".join(approval.approvers) or "a person"


def _line(entry: AuditRecord) -> HistoryLine:
    who = entry.actor or "GenevaDrive"
    reason = entry.reason or ""
    if reason.startswith(_REFUSED):
        return HistoryLine(f"{who} tried to {entry.command}, and may not", entry.at, "lock")
    match entry.command:
        case "approve" | "reject":
            told, comment = f"{who} {_PAST[entry.command]}", reason or None
        case "decide":
            choice, _, comment = reason.partition(": ")
            told = f"{who} {past(choice)}"
        case "link":
            told, comment = f"Link made {reason}", None
        case "delegate":
            told, comment = f"{who} delegated it {reason}", None
        case "escalate":
            by = who if entry.actor else "The deadline"
            told, comment = f"{by} escalated it {reason}".replace("'", ""), None
        case _:
            told, comment = f"{who}: {entry.command.replace('_', ' ')}", reason or None
    glyph = _GLYPHS.get(entry.command, "person-check")
    return HistoryLine(told, entry.at, glyph, comment or None)


def _values(stored: str | None) -> str | None:
    data: Mapping[str, Any] = json.loads(stored) if stored else {}
    if not data:
        return None
    named = [(from_name(name), words(value)) for name, value in data.items()]
    told = [f"{name} {value}" for name, value in named if value]
    return ", ".join(told) or None
