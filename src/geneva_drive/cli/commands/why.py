"""`geneva why`: one sentence about what a workflow waits for."""

from __future__ import annotations

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import print_json
from geneva_drive.cli.parameters import json_option, workflow_id_argument
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.views.execution_bodies import execution_body


@click.command("why")
@workflow_id_argument
@json_option
@with_drive
def command(drive: Drive, workflow_id: str, as_json: bool) -> None:
    """Print one sentence about what a workflow waits for."""
    workflow = drive.workflows(Workflow).find(workflow_id)
    if as_json:
        body = execution_body(workflow)
        print_json({name: body[name] for name in ("id", "type", "state", "why")})
    else:
        click.echo(workflow.why())
