"""`geneva rewind`: restart a resumable step, or move it to another cursor."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli import parameters
from geneva_drive.cli.output.names import cursor_words
from geneva_drive.cli.parameters import step_argument, workflow_id_argument
from geneva_drive.cli.workflow_command import workflow_command
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.serialization import typed_json


@click.command("rewind")
@workflow_id_argument
@step_argument
@click.option(
    "--to",
    metavar="CURSOR",
    help="Continue after this cursor, instead of from the start. JSON, such as 42, "
    '[1, "x"] or {"$type": "date", "value": "2024-01-31"}; anything else is a string.',
)
@workflow_command
def command(workflow: WorkflowHandle[Any], step: str, to: str | None, **audit: str | None) -> str:
    """Restart a resumable step, or continue it at another cursor. Needs --app."""
    cursor = _cursor(to)
    workflow.rewind(step, cursor, **audit)
    place = "the start" if cursor is None else cursor_words(typed_json.dump(cursor))
    return f"Step {step!r} will continue from {place}."


def _cursor(text: str | None) -> Any:
    # Not in the option's callback, which runs before the app is imported with its own types.
    try:
        return None if text is None else parameters.cursor(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--to'") from error
