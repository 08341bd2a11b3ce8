"""`geneva reject`: reject a request."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli.approval_command import approval_command
from geneva_drive.drive.approvals.approval import Approval


@click.command("reject")
@approval_command
def command(approval: Approval, **vote: Any) -> None:
    """Reject a request; the workflow ends, or does what its on_reject says."""
    approval.reject(**vote)
