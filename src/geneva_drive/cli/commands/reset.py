"""`geneva reset`: run a failed step again, or one that a lost worker holds."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli.parameters import step_argument, workflow_id_argument
from geneva_drive.cli.workflow_command import workflow_command
from geneva_drive.drive.handle.handle import WorkflowHandle


@click.command("reset")
@workflow_id_argument
@step_argument
@click.option(
    "--reset-checkpoint", is_flag=True, help="Start at the first item, not at the checkpoint."
)
@click.option(
    "--force", is_flag=True, help="Take a running step from its worker, and drop its result."
)
@workflow_command
def command(
    workflow: WorkflowHandle[Any],
    step: str,
    reset_checkpoint: bool,
    force: bool,
    **audit: str | None,
) -> None:
    """Run a failed step, or one of a lost worker, again from its checkpoint. Needs --app."""
    workflow.reset_for_retry(step, reset_checkpoint, force=force, **audit)
