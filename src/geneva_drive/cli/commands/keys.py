"""`geneva keys`: create, list, rotate and revoke API keys."""

from __future__ import annotations

from datetime import datetime, timedelta

import click
from rich.table import Table

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import make_console, make_table, moment, plain, print_json
from geneva_drive.cli.parameters import json_option, parsed_by, since, span
from geneva_drive.drive.access.api_keys import ApiKey, NewApiKey
from geneva_drive.drive.access.permissions import BUILT_IN_ROLES, Permission
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.views.access_bodies import api_key_body

_EMPTY = "No API keys. Create one: geneva keys create NAME --role operator"


@click.group("keys")
def command() -> None:
    """Create, list, rotate and revoke the API keys of programs."""


@command.command("create")
@click.argument("name")
@click.option(
    "--permission",
    "permissions",
    multiple=True,
    metavar="PERMISSION",
    help=f"A permission of the key; repeat it for more. One of {', '.join(Permission)}.",
)
@click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="ROLE",
    help=f"A role of the key: {', '.join(BUILT_IN_ROLES)}, or one of your own.",
)
@click.option(
    "--expires",
    metavar="WHEN",
    callback=parsed_by(since),
    help="When the key expires: a duration such as 90d, or a moment in UTC. [default: never]",
)
@json_option
@with_drive
def create(
    drive: Drive,
    name: str,
    permissions: tuple[str, ...],
    roles: tuple[str, ...],
    expires: timedelta | datetime | None,
    as_json: bool,
) -> None:
    """Create a key for the program NAME, and print its secret.

    The secret is shown only once.
    """
    if not permissions and not roles:
        raise click.UsageError(
            "A key without permissions can do nothing: pass --permission or --role, such as "
            "--role operator."
        )
    expires_at = drive.clock.now() + expires if isinstance(expires, timedelta) else expires
    _print_new(drive.keys.create(name, permissions, roles, expires_at), as_json)


def _print_new(key: NewApiKey, as_json: bool) -> None:
    if as_json:
        print_json(api_key_body(key))
        return
    click.echo(key.secret)
    # On stderr, so that a shell can capture the secret alone from stdout.
    click.echo(
        f"This is the secret of key {key.id}. It is not stored and will not be shown again.",
        err=True,
    )


@command.command("list")
@json_option
@with_drive
def list_keys(drive: Drive, as_json: bool) -> None:
    """List the keys, the newest first, without their secrets."""
    keys = drive.keys.list()
    if as_json:
        print_json({"items": [api_key_body(key) for key in keys], "next_cursor": None})
    elif keys:
        make_console().print(_table(keys, drive.clock.now()))
    else:
        click.echo(_EMPTY)


def _table(keys: list[ApiKey], now: datetime) -> Table:
    table = make_table("ID", "Name", "Roles", "Permissions", "Last used (UTC)", "State")
    for key in keys:
        table.add_row(
            key.id,
            plain(key.name),
            plain(", ".join(key.roles)),
            plain(", ".join(key.permissions)),
            moment(key.last_used_at),
            _state(key, now),
        )
    return table


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return f"revoked {moment(key.revoked_at)}"
    if key.expires_at is None:
        return "valid"
    return f"{'expired' if key.expires_at <= now else 'valid until'} {moment(key.expires_at)}"


@command.command("rotate")
@click.argument("key_id", metavar="ID")
@click.option(
    "--overlap",
    metavar="DURATION",
    callback=parsed_by(span),
    help="How long the old secret still works, such as 24h. [default: not at all]",
)
@json_option
@with_drive
def rotate(drive: Drive, key_id: str, overlap: timedelta | None, as_json: bool) -> None:
    """Replace the secret of a key, and print the new one.

    Its id, name, roles and permissions stay the same.
    """
    _print_new(drive.keys.rotate(key_id, overlap or timedelta(0)), as_json)


@command.command("revoke")
@click.argument("key_id", metavar="ID|SECRET")
@json_option
@with_drive
def revoke(drive: Drive, key_id: str, as_json: bool) -> None:
    """Revoke a key: requests with it are refused from now on."""
    key = drive.keys.revoke(key_id)
    if as_json:
        print_json(api_key_body(key))
    else:
        click.echo(f"Key {key.id} is revoked.")
