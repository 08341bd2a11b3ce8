"""`geneva resolve`: count a failed step as done."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli.parameters import step_argument, workflow_id_argument
from geneva_drive.cli.workflow_command import workflow_command
from geneva_drive.drive.handle.handle import WorkflowHandle


@click.command("resolve")
@workflow_id_argument
@step_argument
@workflow_command
def command(workflow: WorkflowHandle[Any], step: str, **audit: str | None) -> None:
    """Count a failed step as done, because a person did its work. Needs --app."""
    workflow.resolve_manually(step, **audit)
