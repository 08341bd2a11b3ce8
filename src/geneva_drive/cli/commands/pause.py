"""`geneva pause`: hold a workflow."""

from __future__ import annotations

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.answer import answer
from geneva_drive.cli.parameters import audit_options, json_option, workflow_id_argument
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive


@click.command("pause")
@workflow_id_argument
@audit_options
@json_option
@with_drive
def command(
    drive: Drive, workflow_id: str, reason: str | None, actor: str | None, as_json: bool
) -> None:
    """Hold a workflow; a running step ends first."""
    workflow = drive.workflows(Workflow).find(workflow_id)
    answer(workflow.pause(reason=reason, actor=actor), as_json=as_json)
