"""`geneva migrate`: create or upgrade the tables."""

from __future__ import annotations

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import print_json
from geneva_drive.cli.parameters import json_option
from geneva_drive.drive.drive import Drive


@click.command("migrate")
@click.option("--sql", "only_sql", is_flag=True, help="Print the SQL and change nothing.")
@json_option
@with_drive
def command(drive: Drive, only_sql: bool, as_json: bool) -> None:
    """Create or upgrade the tables.

    It is safe to run again, and in two places at once.
    """
    if only_sql:
        _print_sql(drive, as_json=as_json)
        return
    before, after = drive.migrate()
    if as_json:
        print_json({"database": drive.database_url, "from": before, "to": after})
    elif before == after:
        click.echo(f"{drive.database_url} is up to date at revision {after}.")
    else:
        click.echo(f"{drive.database_url} was migrated to revision {after}.")


def _print_sql(drive: Drive, *, as_json: bool) -> None:
    sql = drive.migration_sql()
    if as_json:
        print_json({"database": drive.database_url, "sql": sql})
    else:
        click.echo(sql or f"-- {drive.database_url} is up to date.", nl=not sql)
