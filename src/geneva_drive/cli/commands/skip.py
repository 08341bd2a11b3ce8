"""`geneva skip`: pass over a step."""

from __future__ import annotations

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.answer import answer
from geneva_drive.cli.parameters import audit_options, json_option, workflow_id_argument
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive


@click.command("skip")
@workflow_id_argument
@click.option("--node", metavar="STEP", help="Refuse unless the workflow stands at this step.")
@audit_options
@json_option
@with_drive
def command(
    drive: Drive,
    workflow_id: str,
    node: str | None,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Pass over the step that is next, or that failed. Needs --app."""
    workflow = drive.workflows(Workflow).find(workflow_id)
    answer(workflow.skip(node, reason=reason, actor=actor), as_json=as_json)
