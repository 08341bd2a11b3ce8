"""`geneva resume`: let a paused workflow go on."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.answer import answer
from geneva_drive.cli.parameters import (
    audit_options,
    json_object,
    json_option,
    reading,
    workflow_id_argument,
)
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive


@click.command("resume")
@workflow_id_argument
@click.option(
    "--data",
    metavar="JSON",
    callback=reading(json_object),
    help="A JSON object to merge into the context; new keys win.",
)
@click.option(
    "--at", "step", metavar="STEP", help="Go on at this step, before or after. Needs --app."
)
@audit_options
@json_option
@with_drive
def command(
    drive: Drive,
    workflow_id: str,
    data: dict[str, Any] | None,
    step: str | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Let a paused workflow go on; a failed step runs again."""
    if step is not None and data is not None:
        raise click.UsageError("--data and --at cannot be given together.")
    workflow = drive.workflows(Workflow).find(workflow_id)
    if step is None:
        workflow.resume(data, reason=reason, actor=actor)
    else:
        workflow.resume_at(step, reason=reason, actor=actor)
    answer(workflow, as_json=as_json)
