"""The requests for approval of one workflow, for `show` and `history`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.output.approval_views import ApprovalView
from geneva_drive.cli.output.approval_words import (
    ago,
    deadline_words,
    for_whom,
    state_words,
    title_line,
)
from geneva_drive.cli.output.console import (
    approval_state_text,
    first_that_fits,
    make_table,
    moment,
    moment_of_year,
    plain,
)
from geneva_drive.cli.output.names import shortened

_TITLE_LENGTHS = (60, 48, 40, 32, 24)
_LONGEST_NAMES = 30


def approval_rows(views: Sequence[ApprovalView], now: datetime) -> Iterator[tuple[str, str]]:
    """Yield a label and a few lines for each request: question, people, state and votes."""
    for view in views:
        yield f"Approval {view.approval.id}", "\n".join(_lines(view, now))


def _lines(view: ApprovalView, now: datetime) -> Iterator[str]:
    approval = view.approval
    yield title_line(approval)
    yield f"asked {for_whom(view)}, {ago(approval.requested_at, now)}"
    yield f"{state_words(view)}{_until(view, now)}"
    for one in view.people:
        if one.choice is not None:
            comment = f": {one.comment}" if one.comment else ""
            yield f"{one.person} voted {one.choice}{comment}"


def _until(view: ApprovalView, now: datetime) -> str:
    approval = view.approval
    if approval.decided_at is not None:
        return f" at {moment(approval.decided_at)} UTC"
    if approval.expires_at is not None:
        return f", deadline {deadline_words(approval.expires_at, now)}"
    return ""


def requests_table(console: Console, views: Sequence[ApprovalView]) -> Table:
    """Return a table of the requests that fits the width of the console."""
    return first_that_fits(console, _tables(views))


def _tables(views: Sequence[ApprovalView]) -> Iterator[Table]:
    for when in (moment, moment_of_year, None):
        for longest in _TITLE_LENGTHS:
            yield _table(views, when, longest)


def _table(
    views: Sequence[ApprovalView], when: Callable[[datetime], str] | None, longest: int
) -> Table:
    asked = [] if when is None else ["Asked (UTC)"]
    table = make_table("Approval", "Request", "For", *asked, "State")
    for column in (table.columns[0], *table.columns[3:-1]):
        column.no_wrap = True
    for view in views:
        approval = view.approval
        details = plain(state_words(view).removeprefix(approval.state))
        table.add_row(
            plain(approval.id),
            plain(shortened(title_line(approval), longest)),
            plain(for_whom(view, _LONGEST_NAMES)),
            *([] if when is None else [when(approval.requested_at)]),
            Text.assemble(approval_state_text(approval.state), details),
        )
    return table
