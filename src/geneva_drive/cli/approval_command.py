"""The options and the output that `approve` and `reject` share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.approval_page import approval_headline
from geneva_drive.cli.output.approval_views import views_of
from geneva_drive.cli.output.approval_words import vote_words
from geneva_drive.cli.output.console import make_console, plain, print_json
from geneva_drive.cli.output.headline import headline
from geneva_drive.cli.parameters import (
    approval_id_argument,
    json_object,
    json_option,
    parsed_by,
)
from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.views.execution_bodies import approval_body
from geneva_drive.states import ApprovalState


def approval_command(function: Callable[..., None]) -> Callable[..., None]:
    """Add the common options, pass the approval instead of its id, and print it afterwards."""

    @functools.wraps(function)
    def act(drive: Drive, /, approval_id: str, as_json: bool, **options: Any) -> None:
        approval = drive.approvals.get(approval_id)
        function(approval, **options)
        if as_json:
            print_json(approval_body(approval))
        else:
            _print(drive, approval)

    return approval_id_argument(_vote_options(json_option(with_drive(act))))


def _vote_options(function: Callable[..., None]) -> Callable[..., None]:
    by = click.option(
        "--by", metavar="NAME", required=True, help="Who votes. Each person has one vote."
    )
    comment = click.option("--comment", metavar="TEXT", help="Why, kept with the vote.")
    data = click.option(
        "--data",
        metavar="JSON",
        callback=parsed_by(json_object),
        help="A JSON object; for an approval with a form, the values of its fields.",
    )
    return by(comment(data(function)))


def _print(drive: Drive, approval: Approval) -> None:
    """Print the state of the request, and what its workflow does next."""
    line = approval_headline(approval)
    if approval.state is ApprovalState.PENDING:
        [view] = views_of(drive, [approval])
        line.append(f", with {vote_words(view, ' votes')}")
    elif approval.decided_by is not None:
        line.append(plain(f" by {approval.decided_by}"))
    workflow = approval.workflow
    console = make_console()
    console.print(line)
    console.print(headline(workflow))
    console.print(plain(workflow.why()))
