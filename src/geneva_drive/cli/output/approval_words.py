"""Words for requests for approval: the question, the people, the votes and the deadline."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from rich.markdown import Markdown

from geneva_drive.cli.output.approval_views import ApprovalView
from geneva_drive.cli.output.names import shortened
from geneva_drive.definition.options.approval_terms import APPROVE, REJECT
from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.durations import describe
from geneva_drive.storage.schema.records import WorkflowRecord

_SHORTEST = timedelta(seconds=1)
USUAL_CHOICES = (APPROVE, REJECT)
_TEXTS = ("text", "code_inline")
_BREAKS = ("softbreak", "hardbreak")


def title_line(approval: Approval) -> str:
    """Return the first line of the question, without Markdown.

    An approval without `ask` has only the name of its step.
    """
    for block in Markdown(approval.title or "").parsed:
        if block.type in ("code_block", "fence"):
            return block.content.strip().partition("\n")[0]
        if block.type == "inline" and (line := _first_line(block.children or ())):
            return line
    return approval.step_name


def _first_line(tokens: Iterable[object]) -> str:
    line = ""
    for token in tokens:
        kind, content = getattr(token, "type", ""), getattr(token, "content", "")
        if kind in _BREAKS and line.strip():
            break
        if kind in _TEXTS:
            line += content
    return line.strip()


def for_whom(view: ApprovalView, longest: int | None = None) -> str:
    names = ", ".join(view.deciders)
    return names if longest is None else shortened(names, longest)


def workflow_words(workflow: WorkflowRecord) -> str:
    return f"{workflow.type} {workflow.id}{hero_words(workflow)}"


def hero_words(workflow: WorkflowRecord) -> str:
    return f" ({workflow.hero_type}/{workflow.hero_id})" if workflow.hero_type else ""


def vote_words(view: ApprovalView, noun: str = "") -> str:
    """Return the votes that count, as in "1 of 2", or "1 of 2 votes, 1 of 2 to reject"."""
    approval = view.approval
    words = f"{view.approve_count} of {approval.quorum}{noun}"
    if not view.reject_count:
        return words
    return f"{words}, {view.reject_count} of {approval.reject_quorum} to reject"


def state_words(view: ApprovalView) -> str:
    """Return the state of a request, as in "pending, 1 of 2 votes" or "approved by ann"."""
    approval = view.approval
    if view.is_pending:
        return f"{approval.state}, {vote_words(view, ' votes')}"
    choice = "" if approval.choices == USUAL_CHOICES else f" ({approval.choice})"
    by = f" by {approval.decided_by}" if approval.decided_by else ""
    return f"{approval.state}{choice if approval.choice else ''}{by}"


def ago(at: datetime, now: datetime) -> str:
    return "now" if now - at < _SHORTEST else f"{describe(now - at)} ago"


def deadline_words(deadline: datetime, now: datetime) -> str:
    remaining = deadline - now
    return f"in {describe(remaining)}" if remaining >= _SHORTEST else "passed"
