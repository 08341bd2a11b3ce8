"""`geneva reattempt`: run a step again that failed or was canceled."""

from __future__ import annotations

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.answer import answer
from geneva_drive.cli.parameters import (
    audit_options,
    json_option,
    step_argument,
    workflow_id_argument,
)
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive


@click.command("reattempt")
@workflow_id_argument
@step_argument
@click.option("--rewind", is_flag=True, help="From the first item, not from the step's cursor.")
@audit_options
@json_option
@with_drive
def command(
    drive: Drive,
    workflow_id: str,
    step: str,
    rewind: bool,
    reason: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """Run a step again that failed or was canceled. Needs --app."""
    workflow = drive.workflows(Workflow).find(workflow_id)
    workflow.reattempt(step, rewind=rewind, reason=reason, actor=actor)
    answer(workflow, as_json=as_json)
