"""`geneva deploy`: store workflow documents in the database."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from geneva_drive.cli.commands.validate import print_file
from geneva_drive.cli.document_file import FILE, DocumentFile, read_document
from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.output.console import make_console, print_json
from geneva_drive.cli.parameters import json_option
from geneva_drive.drive.definitions import definitions
from geneva_drive.drive.definitions.definitions import DeployedDefinition
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.views.definition_body import definition_body


@click.command("deploy")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
@click.option("--actor", metavar="NAME", help="Who deploys.")
@json_option
@with_drive
def command(drive: Drive, files: tuple[Path, ...], actor: str | None, as_json: bool) -> None:
    """Deploy workflow documents; new workflows get these versions.

    If one of the files has a fault, none is deployed, and the exit code is 6. Deploying the same
    document again changes nothing. If the content has changed, it needs a new version.
    """
    read = [read_document(file) for file in files]
    faulty = [each for each in read if each.faults]
    if faulty:
        _refuse(faulty, as_json=as_json)
        return
    with _unlogged():
        deployed = [drive.definitions.deploy(each.path.read_bytes(), actor=actor) for each in read]
    if as_json:
        print_json({"deployed": [_body(each) for each in deployed]})
        return
    for each in deployed:
        what = "is deployed" if each.created else "was already deployed"
        click.echo(f"{each.name} {each.version} {what}.")
        for warning in each.warnings:
            click.echo(f"geneva: {each.name}: {warning.path}: {warning.message}.", err=True)


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep the log from repeating the warnings, which the command prints itself."""
    own = logging.getLogger(definitions.__name__)
    former = own.level
    own.setLevel(logging.ERROR)
    try:
        yield
    finally:
        own.setLevel(former)


def _refuse(faulty: list[DocumentFile], *, as_json: bool) -> None:
    if as_json:
        faults = {
            str(each.path): [{"path": one.path, "message": one.message} for one in each.faults]
            for each in faulty
        }
        print_json({"deployed": [], "faults": faults})
    else:
        console = make_console()
        for each in faulty:
            print_file(console, each)
        click.echo("Nothing was deployed.")
    click.get_current_context().exit(ExitCode.PROBLEMS)


def _body(deployed: DeployedDefinition) -> dict[str, Any]:
    warnings = [{"path": one.path, "message": one.message} for one in deployed.warnings]
    return {**definition_body(deployed), "created": deployed.created, "warnings": warnings}
