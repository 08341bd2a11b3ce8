"""`geneva complete`: count a failed step as done, with a result."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli import parameters
from geneva_drive.cli.parameters import step_argument, workflow_id_argument
from geneva_drive.cli.workflow_command import workflow_command
from geneva_drive.drive.handle.handle import WorkflowHandle


@click.command("complete")
@workflow_id_argument
@step_argument
@click.option(
    "--result",
    metavar="JSON",
    required=True,
    help="The result of the step, such as 42 or '{\"paid\": true}'; a string needs its quotes.",
)
@workflow_command
def command(workflow: WorkflowHandle[Any], step: str, result: str, **audit: str | None) -> None:
    """Count a failed step as done, with the result it should have returned. Needs --app."""
    # Not in the option's callback, which runs before the app is imported with its own types.
    try:
        value = parameters.typed_json_value(result)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--result'") from error
    workflow.complete_manually(step, result=value, **audit)
