"""`geneva publish`: publish an event, and print what it started and continued."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from geneva_drive.cli import parameters
from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import print_json
from geneva_drive.cli.parameters import audit_options, json_option, parsed_by
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.publication import HeardBy, PublishedEvent
from geneva_drive.drive.views.execution_bodies import event_body

_MOST = 10


@click.command("publish")
@click.argument("event_type", metavar="TYPE")
@click.option(
    "--payload",
    metavar="JSON",
    callback=parsed_by(parameters.typed_json_value),
    help="The payload of the event, as JSON.",
)
@click.option(
    "--id", metavar="ID", help="Its id; a second event with the same id and source is ignored."
)
@click.option("--source", metavar="NAME", default="cli", show_default=True, help="Who publishes.")
@click.option("--key", metavar="KEY", help="What the event is about, such as the id of an order.")
@click.option(
    "--ttl",
    metavar="DURATION",
    callback=parsed_by(parameters.span),
    default="7d",
    show_default=True,
    help="How long it is kept for waits that begin later.",
)
@audit_options
@json_option
@with_drive
def command(
    drive: Drive,
    /,
    event_type: str,
    payload: Any,
    as_json: bool,
    **options: Any,
) -> None:
    """Publish an event, and print which workflows it started and continued.

    Workers run the steps that waited for it, and start the workflows that it triggers.
    """
    event = drive.publish(event_type, payload, **options)
    heard = event.heard_by()
    if as_json:
        print_json(event_body(event, heard))
        return
    for line in _lines(event, heard):
        click.echo(line)


def _lines(event: PublishedEvent, heard: HeardBy) -> Iterator[str]:
    if event.duplicate:
        yield f"{event.source} has published {event.id!r} before, as event {event.number}."
    else:
        yield f"Event {event.number} is stored."
    if heard.continued:
        yield f"It lets {_named(heard.continued)} continue."
    if heard.started:
        yield f"It has started {_named(heard.started)}."
    for name, reason in heard.refused.items():
        yield f"It did not start {name}: {reason}"
    if not heard.continued and not heard.started:
        yield "No workflow has heard it yet. It is kept for waits that begin before it expires."
    if heard.near_misses:
        yield f"Its key is not the one awaited by {_named(heard.near_misses)}."


def _named(ids: list[Any]) -> str:
    noun = "workflow" if len(ids) == 1 else "workflows"
    more = ", ..." if len(ids) > _MOST else ""
    return f"{noun} {', '.join(map(str, ids[:_MOST]))}{more}"
