"""`geneva events`: list the latest events."""

from __future__ import annotations

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import make_console, make_table, moment, plain, print_json
from geneva_drive.cli.parameters import json_option
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.views.execution_bodies import event_body

_SHOWN = 50


@click.command("events")
@click.option("--type", "event_type", metavar="TYPE", help="Only events of this type.")
@click.option("--key", metavar="KEY", help="Only events with this key.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_SHOWN,
    show_default=True,
    help="At most this many.",
)
@json_option
@with_drive
def command(
    drive: Drive, /, event_type: str | None, key: str | None, limit: int, as_json: bool
) -> None:
    """List the latest events that are still stored, newest first."""
    found = drive.published(event_type, key, limit=limit)
    if as_json:
        print_json({"items": [event_body(one, one.heard_by()) for one in found]})
        return
    if not found:
        click.echo("No events are stored. `geneva publish TYPE` publishes one.")
        return
    table = make_table("Event", "Type", "Key", "Source", "Published (UTC)", "Expires (UTC)")
    for one in found:
        expires = "" if one.expires_at is None else moment(one.expires_at)
        cells = (str(one.number), one.type, one.key or "", one.source)
        table.add_row(*map(plain, (*cells, moment(one.published_at), expires)))
    make_console().print(table)
