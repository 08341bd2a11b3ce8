"""`geneva approvals`: list the requests that wait for a decision, or show one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.completion import pending_approval_ids
from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.approval_page import approval_page
from geneva_drive.cli.output.approval_views import ApprovalView, views_of
from geneva_drive.cli.output.approval_words import (
    ago,
    deadline_words,
    for_whom,
    title_line,
    vote_words,
    workflow_words,
)
from geneva_drive.cli.output.console import (
    first_that_fits,
    make_console,
    make_table,
    plain,
    print_json,
)
from geneva_drive.cli.output.names import shortened
from geneva_drive.cli.parameters import cursor_option, json_option, limit_option
from geneva_drive.drive.approvals.approvals import ApprovalQuery
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.views.execution_bodies import approval_body
from geneva_drive.states import ApprovalState

_SHOWN = 50
_LONGEST_NAMES = 30  # characters; `geneva approvals ID` prints all of it
_PENDING = ApprovalState.PENDING.value
_SHORT = "Workflow without hero"
_HEADERS = {_SHORT: "Workflow"}
# The first set that fits is shown, with a title of the first length that fits.
_PENDING_COLUMNS = (
    ("ID", "Request", "Step", "Workflow", "For", "Asked", "Deadline", "Votes"),
    ("ID", "Request", "Workflow", "For", "Asked", "Deadline", "Votes"),
    ("ID", "Request", "Workflow", "For", "Deadline", "Votes"),
    ("ID", "Request", _SHORT, "For", "Deadline", "Votes"),
    ("ID", "Request", "For", "Deadline", "Votes"),
    ("ID", "Request", "For", "Deadline"),
    ("ID", "Request", "For"),
)
_ENDED_COLUMNS = (
    ("ID", "Request", "Step", "Workflow", "For", "Asked", "Ended", "By"),
    ("ID", "Request", "Workflow", "For", "Asked", "Ended", "By"),
    ("ID", "Request", "Workflow", "Ended", "By"),
    ("ID", "Request", _SHORT, "Ended", "By"),
    ("ID", "Request", "Ended", "By"),
)
_TITLE_LENGTHS = (60, 48, 40, 32, 24)
_EMPTY = (
    "No requests wait for a decision. A workflow makes one when it reaches a step declared with "
    "@gd.approval."
)


@click.command("approvals")
@click.argument(
    "approval_id", metavar="[APPROVAL]", required=False, shell_complete=pending_approval_ids
)
@click.option("--role", metavar="ROLE", help="Only requests for this role.")
@click.option(
    "--mine-as",
    "person",
    metavar="PERSON",
    help="Only requests that name this person or were delegated to them.",
)
@click.option(
    "--state",
    type=click.Choice([state.value for state in ApprovalState]),
    default=_PENDING,
    show_default=True,
    help="Only requests in this state.",
)
@limit_option(_SHOWN)
@cursor_option
@json_option
@with_drive
def command(
    drive: Drive,
    /,
    approval_id: str | None,
    limit: int | None,
    cursor: str | None,
    as_json: bool,
    **filters: Any,
) -> None:
    """List the requests that wait for a decision, or show one.

    The oldest are listed first. `geneva approve` and `geneva reject` decide them.
    """
    if approval_id is not None:
        _refuse_filters(limit, cursor, *filters.values())
        _show(drive, approval_id, as_json=as_json)
        return
    query = _query(drive, **filters)
    if cursor is not None:
        query = query.after(cursor)
    if as_json:
        _print_json(query, limit)
    else:
        _print_table(drive, query, _SHOWN if limit is None else limit)


def _refuse_filters(*given: object) -> None:
    if any(value not in (None, _PENDING) for value in given):
        raise click.UsageError(
            "The options that filter a list cannot be used with the id of one request."
        )


def _query(drive: Drive, *, role: str | None, person: str | None, state: str) -> ApprovalQuery:
    if person is not None and state != _PENDING:
        raise click.UsageError(
            "--mine-as lists only pending requests: a request that has ended waits for no person."
        )
    query = drive.approvals.pending(role=role, person=person)
    return replace(query, wanted=replace(query.wanted, state=ApprovalState(state)))


def _show(drive: Drive, approval_id: str, *, as_json: bool) -> None:
    approval = drive.approvals.get(approval_id)
    if as_json:
        print_json(approval_body(approval))
        return
    console = make_console()
    for part in approval_page(console, drive, approval):
        console.print(part)


def _print_json(query: ApprovalQuery, limit: int | None) -> None:
    """Print a page and the cursor of the next one; without a limit, all requests."""
    found = query.all() if limit is None else query.limit(limit + 1).all()
    shown = found[:limit]
    next_cursor = str(shown[-1].id) if len(found) > len(shown) else None
    print_json({"items": [approval_body(one) for one in shown], "next_cursor": next_cursor})


def _print_table(drive: Drive, query: ApprovalQuery, limit: int) -> None:
    found = query.limit(limit).all()
    if not found:
        click.echo(_sentence_for_none(query))
        return
    console, now = make_console(), drive.clock.now()
    if views := views_of(drive, found):
        console.print(first_that_fits(console, _tables(views, now)))
    total = query.count()
    if total > len(found):
        click.echo(
            f"\nThe oldest {len(found)} of {total:,}. Filter with --role or --mine-as, raise "
            f"--limit, or continue with --cursor {found[-1].id}."
        )


def _sentence_for_none(query: ApprovalQuery) -> str:
    wanted = query.wanted
    if (wanted.role, wanted.person, wanted.after) != (None, None, None):
        return "No such requests found."
    if wanted.state is not ApprovalState.PENDING:
        return f"No requests are {wanted.state}."
    return _EMPTY


def _tables(views: list[ApprovalView], now: datetime) -> Iterator[Table]:
    rows = [_cells(view, now) for view in views]
    for columns in _PENDING_COLUMNS if views[0].is_pending else _ENDED_COLUMNS:
        for longest in _TITLE_LENGTHS:
            yield _table(rows, columns, longest)


def _table(rows: list[dict[str, str]], columns: tuple[str, ...], longest: int) -> Table:
    shown = [column for column in columns if any(row[column] for row in rows)]
    table = make_table(*(_HEADERS.get(column, column) for column in shown))
    table.columns[0].no_wrap = True  # so that it can be copied
    for row in rows:
        table.add_row(*(_cell(column, row[column], longest) for column in shown))
    return table


def _cell(column: str, value: str, longest: int) -> Text:
    return plain(shortened(value, longest) if column == "Request" else value)


def _cells(view: ApprovalView, now: datetime) -> dict[str, str]:
    approval, deadline = view.approval, view.approval.expires_at
    return {
        "ID": str(approval.id),
        "Request": title_line(approval),
        "Step": approval.step_name,
        "Workflow": workflow_words(view.workflow),
        _SHORT: f"{view.workflow.type} {view.workflow.id}",
        "For": for_whom(view, _LONGEST_NAMES),
        "Asked": ago(approval.requested_at, now),
        "Deadline": deadline_words(deadline, now) if deadline else "",
        "Votes": vote_words(view),
        "Ended": ago(approval.decided_at, now) if approval.decided_at else "",
        "By": approval.decided_by or "",
    }
