"""`geneva prune`: delete workflows that ended long ago."""

from __future__ import annotations

from datetime import timedelta

import click

from geneva_drive.cli.opening import with_drive
from geneva_drive.cli.output import print_json
from geneva_drive.cli.parameters import json_option, reading, span
from geneva_drive.drive.drive import Drive


@click.command("prune")
@click.option(
    "--older-than",
    metavar="DURATION",
    callback=reading(span),
    help="Delete what ended longer ago than this, such as 90d or 12h. [default: GENEVA_RETENTION]",
)
@json_option
@with_drive
def command(drive: Drive, older_than: timedelta | None, as_json: bool) -> None:
    """Delete finished and canceled workflows that ended long ago."""
    if older_than is None and drive.settings.retention is None:
        raise click.UsageError("Give --older-than, such as 90d, or set GENEVA_RETENTION.")
    count = drive.prune(older_than)
    if as_json:
        print_json({"deleted": count})
    else:
        click.echo(f"Deleted {count:,} {'workflow' if count == 1 else 'workflows'}.")
