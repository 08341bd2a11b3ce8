"""`geneva resume`: continue a paused workflow."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli.parameters import json_object, parsed_by, workflow_id_argument
from geneva_drive.cli.workflow_command import workflow_command
from geneva_drive.drive.handle.handle import WorkflowHandle


@click.command("resume")
@workflow_id_argument
@click.option(
    "--data",
    metavar="JSON",
    callback=parsed_by(json_object),
    help="A JSON object to merge into the context; its keys win.",
)
@click.option(
    "--at", "step", metavar="STEP", help="Continue at this step, earlier or later. Needs --app."
)
@workflow_command
def command(
    workflow: WorkflowHandle[Any],
    data: dict[str, Any] | None,
    step: str | None,
    **audit: str | None,
) -> None:
    """Continue a paused workflow; a failed step runs again."""
    if step is not None and data is not None:
        raise click.UsageError("--data and --at cannot be used together.")
    if step is None:
        workflow.resume(data, **audit)
    else:
        workflow.resume_at(step, **audit)
