"""`geneva prune`: delete workflows that ended long ago."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import click
from rich.console import Console

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import print_json
from geneva_drive.cli.parameters import json_option, parsed_by, span
from geneva_drive.drive.drive import Drive


@click.command("prune")
@click.option(
    "--older-than",
    metavar="DURATION",
    callback=parsed_by(span),
    help="Delete workflows that ended longer ago, such as 90d or 12h. [default: GENEVA_RETENTION]",
)
@json_option
@with_drive
def command(drive: Drive, older_than: timedelta | None, as_json: bool) -> None:
    """Delete finished and canceled workflows that ended long ago."""
    if older_than is None and drive.settings.retention is None:
        raise click.UsageError("Pass --older-than, such as 90d, or set GENEVA_RETENTION.")
    with _counting() as count_up:
        count = drive.prune(older_than, progress=count_up)
    if as_json:
        print_json({"deleted": count})
    else:
        click.echo(f"Deleted {count:,} {'workflow' if count == 1 else 'workflows'}.")


@contextmanager
def _counting() -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many are deleted, since a backlog of years takes minutes."""
    deleted = 0
    with Console(stderr=True).status("Looking for old workflows") as status:

        def count_up(count: int) -> None:
            nonlocal deleted
            deleted += count
            status.update(f"Deleted {deleted:,} so far")

        yield count_up
