"""`geneva link`: an address at which one person decides one request."""

from __future__ import annotations

from datetime import timedelta

import click

from geneva_drive.cli import parameters
from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import moment, print_json
from geneva_drive.cli.parameters import approval_id_argument, json_option, parsed_by
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.views.execution_bodies import approval_body


@click.command("link")
@approval_id_argument
@click.option("--for", "person", metavar="PERSON", required=True, help="The person who decides.")
@click.option(
    "--expires-in",
    metavar="DURATION",
    callback=parsed_by(parameters.span),
    default="72h",
    show_default=True,
    help="How long the address works.",
)
@json_option
@with_drive
def command(
    drive: Drive, approval_id: str, person: str, expires_in: timedelta, as_json: bool
) -> None:
    """Print an address at which one person can decide a request.

    The person needs no login. The address stops working once the request is decided, delegated,
    escalated or expired. It is built from the setting public_url: from --app, or GENEVA_PUBLIC_URL.
    """
    approval = drive.approvals.get(approval_id)
    until = drive.clock.now() + expires_in
    link = approval.link(for_=person, expires_in=expires_in)
    if as_json:
        print_json({**approval_body(approval.reload()), "link": link})
        return
    click.echo(link)
    # On stderr, so that a script can take the address from stdout.
    click.echo(
        f"With this address, {person} can decide approval {approval.id} until {moment(until)} UTC. "
        f"Send it only to this person.",
        err=True,
    )
