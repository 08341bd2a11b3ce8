"""`geneva approve`: approve a request, or vote for another of its choices."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli.approval_command import approval_command
from geneva_drive.definition.options.approval_terms import APPROVE, REJECT
from geneva_drive.drive.approvals.approval import Approval


@click.command("approve")
@click.option(
    "--choice", metavar="WORD", help="The choice, for an approval with choices of its own."
)
@approval_command
def command(approval: Approval, choice: str | None, **vote: Any) -> None:
    """Approve a request; the workflow continues once enough people approve.

    Needs --app if the approval has a form.
    """
    approval.decide(_chosen(approval, choice), **vote)


def _chosen(approval: Approval, choice: str | None) -> str:
    if choice == REJECT:
        raise click.UsageError(f"To reject, use `geneva reject {approval.id}`.")
    if choice is None and APPROVE not in approval.choices:
        approving = ", ".join(repr(one) for one in approval.choices if one != REJECT)
        raise click.UsageError(
            f"Approval {approval.id} has choices of its own: pass --choice with one of {approving}."
        )
    return choice or APPROVE
