"""The page of one request for approval."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.output.approval_views import ApprovalView, views_of
from geneva_drive.cli.output.approval_words import (
    USUAL_CHOICES,
    ago,
    deadline_words,
    for_whom,
    vote_words,
    workflow_words,
)
from geneva_drive.cli.output.command_table import commands_table
from geneva_drive.cli.output.console import approval_state_text, make_table, moment, plain
from geneva_drive.cli.output.names import readable
from geneva_drive.definition.options.approval_terms import APPROVE, REJECT
from geneva_drive.drive.approvals.approval import Approval, ApprovalVote
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import ApprovalNotFound

_WIDEST_TEXT = 100  # a heading is centred, and a pipe is very wide


def approval_headline(approval: Approval) -> Text:
    name = Text(f"Approval {approval.id}", style="bold")
    return Text.assemble(name, " is ", approval_state_text(approval.state))


def approval_page(console: Console, drive: Drive, approval: Approval) -> Iterator[RenderableType]:
    """Yield the parts of the page, from the question to its effects."""
    view = next(iter(views_of(drive, [approval])), None)
    if view is None:
        raise ApprovalNotFound(approval.id)
    yield approval_headline(approval)
    yield from _asked(console, approval)
    yield Text()
    yield _details(view, drive.clock.now())
    yield from _values(("Fact", "Value"), approval.stored_facts)
    yield from _values(("Field", "Initial value"), approval.stored_initial)
    yield from _votes(approval.votes)
    if history := approval.history:
        yield Text()
        yield commands_table(history)
    if view.is_pending:
        yield Text()
        yield plain(_way_to_decide(approval))


def _asked(console: Console, approval: Approval) -> Iterator[RenderableType]:
    if approval.title is None:
        return
    # An address is printed beside its text: the reader must see where a link leads.
    text = Markdown(plain(approval.title).plain, hyperlinks=False)
    yield Text()
    yield Constrain(text, min(console.width, _WIDEST_TEXT))


def _details(view: ApprovalView, now: datetime) -> Table:
    grid = Table.grid(padding=(0, 3))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in (*_who(view), *_when(view, now), *_decision(view.approval)):
        if value:
            grid.add_row(name, plain(value))
    return grid


def _who(view: ApprovalView) -> Iterator[tuple[str, str | None]]:
    approval = view.approval
    yield "Workflow", workflow_words(view.workflow)
    yield "Step", approval.step_name
    yield "For", for_whom(view)
    yield "Votes", vote_words(view) if view.is_pending else None
    if approval.choices != USUAL_CHOICES:
        yield "Choices", ", ".join(approval.choices)
    yield "Form", approval.form


def _when(view: ApprovalView, now: datetime) -> Iterator[tuple[str, str | None]]:
    approval = view.approval
    yield "Asked", f"{moment(approval.requested_at)} UTC, {ago(approval.requested_at, now)}"
    if approval.expires_at is not None and view.is_pending:
        words = deadline_words(approval.expires_at, now)
        yield "Deadline", f"{moment(approval.expires_at)} UTC, {words}"


def _decision(approval: Approval) -> Iterator[tuple[str, str | None]]:
    if approval.decided_at is not None:
        verb = "Decided" if approval.decided_by else approval.state.capitalize()
        by = f" by {approval.decided_by}" if approval.decided_by else ""
        yield verb, f"{moment(approval.decided_at)} UTC{by}"
    if approval.choices != USUAL_CHOICES:
        yield "Choice", approval.choice
    yield "Comment", approval.comment
    if approval.stored_data is not None:
        yield "Data", readable(approval.stored_data, indent=2)


def _values(headers: tuple[str, str], stored: str | None) -> Iterator[RenderableType]:
    named = json.loads(readable(stored or "{}"))
    if not named:
        return
    table = make_table(*headers)
    for name, value in named.items():
        table.add_row(plain(name), plain(value if isinstance(value, str) else json.dumps(value)))
    yield Text()
    yield table


def _votes(votes: Sequence[ApprovalVote]) -> Iterator[RenderableType]:
    if not votes:
        return
    has_data = any(vote.stored_data for vote in votes)
    table = make_table("Vote", "By", "At (UTC)", "Comment", *(["Data"] if has_data else []))
    table.columns[0].no_wrap = table.columns[2].no_wrap = True
    for vote in votes:
        data = "" if vote.stored_data is None else readable(vote.stored_data)
        table.add_row(
            plain(vote.choice),
            plain(vote.by),
            moment(vote.at),
            plain(vote.comment or ""),
            *([plain(data)] if has_data else []),
        )
    yield Text()
    yield table


def _way_to_decide(approval: Approval) -> str:
    approving = [one for one in approval.choices if one != REJECT]
    chosen = "" if APPROVE in approving else f" --choice {approving[0]}"
    data = "" if approval.form is None else " --data JSON"
    reject = f", or `geneva reject {approval.id} --by NAME`" if REJECT in approval.choices else ""
    return f"Decide it with `geneva approve {approval.id} --by NAME{chosen}{data}`{reject}."
