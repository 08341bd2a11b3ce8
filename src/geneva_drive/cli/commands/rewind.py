"""`geneva rewind`: let a resumable step start over, or go on from another cursor."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli import parameters
from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.answer import answer
from geneva_drive.cli.output.names import cursor_words
from geneva_drive.cli.parameters import (
    audit_options,
    json_option,
    step_argument,
    workflow_id_argument,
)
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive
from geneva_drive.serialization import typed_json


@click.command("rewind")
@workflow_id_argument
@step_argument
@click.option(
    "--to",
    metavar="CURSOR",
    help="Go on behind this cursor, in place of the start. JSON, such as 42 or "
    '[1, "x"] or {"$type": "date", "value": "2024-01-31"}; other text is taken as it is.',
)
@audit_options
@json_option
@with_drive
def command(
    drive: Drive,
    workflow_id: str,
    step: str,
    to: str | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Let a resumable step start over, or go on from another cursor. Needs --app."""
    workflow = drive.workflows(Workflow).find(workflow_id)
    cursor = _cursor(to)
    workflow.rewind(step, cursor, reason=reason, actor=actor)
    place = "the start" if cursor is None else cursor_words(typed_json.dump(cursor))
    answer(workflow, as_json=as_json, outcome=f"Step {step!r} will go on from {place}.")


def _cursor(text: str | None) -> Any:
    # Not by the option's callback, which comes before the app, and so before its own types.
    try:
        return None if text is None else parameters.cursor(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--to'") from error
