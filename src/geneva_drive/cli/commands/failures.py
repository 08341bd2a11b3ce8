"""`geneva failures`: failures, in groups of the same type, step and error."""

from __future__ import annotations

from datetime import datetime, timedelta

import click
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import make_console, make_table, moment, plain, print_json
from geneva_drive.cli.parameters import json_option, parsed_by, since
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.failures.failures import FailureGroup, Standing
from geneva_drive.drive.views.failure_bodies import failure_group_body

_STYLES = {
    Standing.PAUSED: "bold yellow",
    Standing.REATTEMPTING: "cyan",
    Standing.ENDED: "dim",
}


@click.command("failures")
@click.option(
    "--since",
    metavar="WHEN",
    default="24h",
    show_default=True,
    callback=parsed_by(since),
    help="How far to look back: a duration, or a moment in UTC. Workflows that a failure paused "
    "are always shown.",
)
@json_option
@with_drive
def command(drive: Drive, since: timedelta | datetime, as_json: bool) -> None:
    """List failures in groups of the same type, step and error.

    Groups that need an operator come first.
    """
    groups = drive.failures(since=since)
    if as_json:
        items = [failure_group_body(one) for one in groups]
        print_json({"items": items, "next_cursor": None})
    elif groups:
        make_console().print(_table(groups))
    else:
        click.echo("Nothing has failed.")


def _table(groups: list[FailureGroup]) -> Table:
    table = make_table("Count", "Standing", "Type", "Step", "Error", "Last (UTC)", "Workflows")
    for group in groups:
        error = (group.error_class or "").removeprefix("builtins.")
        table.add_row(
            f"{group.count:,}" if group.is_count_exact else f"{group.count:,}+",
            Text(group.standing, style=_STYLES[group.standing]),
            plain(group.type or "(dynamic)"),
            plain(group.step),
            plain(f"{error}: {group.message}" if group.message else error),
            moment(group.last),
            ", ".join(str(one) for one in group.sample_ids),
        )
    return table
