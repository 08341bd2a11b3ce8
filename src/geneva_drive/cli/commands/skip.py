"""`geneva skip`: skip a step."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli.parameters import workflow_id_argument
from geneva_drive.cli.workflow_command import workflow_command
from geneva_drive.drive.handle.handle import WorkflowHandle


@click.command("skip")
@workflow_id_argument
@click.option("--node", metavar="STEP", help="Refuse unless the workflow is at this step.")
@workflow_command
def command(workflow: WorkflowHandle[Any], node: str | None, **audit: str | None) -> None:
    """Skip the step that is next, or that failed. Needs --app."""
    workflow.skip(node, **audit)
