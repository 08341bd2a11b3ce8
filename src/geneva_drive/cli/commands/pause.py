"""`geneva pause`: pause a workflow."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli.parameters import workflow_id_argument
from geneva_drive.cli.workflow_command import workflow_command
from geneva_drive.drive.handle.handle import WorkflowHandle


@click.command("pause")
@workflow_id_argument
@workflow_command
def command(workflow: WorkflowHandle[Any], **audit: str | None) -> None:
    """Pause a workflow; a running step finishes first."""
    workflow.pause(**audit)
