"""`geneva cancel`: cancel a workflow."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli.parameters import workflow_id_argument
from geneva_drive.cli.workflow_command import workflow_command
from geneva_drive.drive.handle.handle import WorkflowHandle


@click.command("cancel")
@workflow_id_argument
@click.option(
    "--force", is_flag=True, help="Do not wait for a running step; its result is dropped."
)
@workflow_command
def command(workflow: WorkflowHandle[Any], force: bool, **audit: str | None) -> None:
    """Cancel a workflow for good; a running step finishes first."""
    workflow.cancel(force=force, **audit)
