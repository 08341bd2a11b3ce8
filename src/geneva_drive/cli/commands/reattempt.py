"""`geneva reattempt`: run a failed or canceled step again."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli.parameters import step_argument, workflow_id_argument
from geneva_drive.cli.workflow_command import workflow_command
from geneva_drive.drive.handle.handle import WorkflowHandle


@click.command("reattempt")
@workflow_id_argument
@step_argument
@click.option("--rewind", is_flag=True, help="Start at the first item, not at the step's cursor.")
@workflow_command
def command(workflow: WorkflowHandle[Any], step: str, rewind: bool, **audit: str | None) -> None:
    """Run a failed or canceled step again. Needs --app."""
    workflow.reattempt(step, rewind=rewind, **audit)
