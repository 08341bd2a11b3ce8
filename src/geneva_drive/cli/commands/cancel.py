"""`geneva cancel`: end a workflow."""

from __future__ import annotations

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.answer import answer
from geneva_drive.cli.parameters import audit_options, json_option, workflow_id_argument
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive


@click.command("cancel")
@workflow_id_argument
@click.option(
    "--force", is_flag=True, help="Do not wait for a running step: its result is dropped."
)
@audit_options
@json_option
@with_drive
def command(
    drive: Drive,
    workflow_id: str,
    force: bool,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """End a workflow for good; a running step ends first."""
    workflow = drive.workflows(Workflow).find(workflow_id)
    answer(workflow.cancel(force=force, reason=reason, actor=actor), as_json=as_json)
