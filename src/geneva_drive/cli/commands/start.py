"""`geneva start`: start a workflow by the name of its document or class."""

from __future__ import annotations

from typing import Any

import click

from geneva_drive.cli import parameters
from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.parameters import actor_option, json_option, parsed_by
from geneva_drive.cli.workflow_command import print_workflow
from geneva_drive.drive.drive import Drive


@click.command("start")
@click.argument("name", metavar="NAME")
@click.option(
    "--version", metavar="VERSION", help="The version of a document. [default: the latest deployed]"
)
@click.option(
    "--context",
    metavar="JSON",
    callback=parsed_by(parameters.json_object),
    help="The context of the workflow, as a JSON object.",
)
@click.option(
    "--hero",
    metavar="TYPE/ID",
    callback=parsed_by(parameters.hero),
    help="The record that the workflow is about, such as User/42.",
)
@click.option(
    "--idempotency-key",
    metavar="KEY",
    help="A second start with the same key returns the first workflow.",
)
@actor_option
@json_option
@with_drive
def command(drive: Drive, /, name: str, version: str | None, as_json: bool, **options: Any) -> None:
    """Start a workflow from a document, or from a class of --app.

    Workers run it. The context must fit the `input` of the document.
    """
    print_workflow(drive.start(name, version, **options), as_json=as_json)
