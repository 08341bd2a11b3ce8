"""`geneva doctor`: find problems, and what to do about them."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.text import Text

from geneva_drive.cli.diagnosis import examine
from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.output.console import make_console, make_table, plain, print_json
from geneva_drive.cli.parameters import json_option
from geneva_drive.drive.drive import Drive
from geneva_drive.storage.dialects.health_check import Check, Finding

_STYLES = {Finding.OK: "green", Finding.REMINDER: "yellow", Finding.PROBLEM: "bold red"}


@click.command("doctor")
@json_option
@with_drive
def command(drive: Drive, as_json: bool) -> None:
    """Look for problems, and suggest what to do about each.

    It exits with 6 if there are any; reminders do not count.
    """
    checks = list(examine(drive))
    problems = sum(check.finding is Finding.PROBLEM for check in checks)
    if as_json:
        print_json({"ok": not problems, "checks": [asdict(check) for check in checks]})
    else:
        _print_table(checks)
        click.echo(f"\n{_summary(problems)}")
    if problems:
        click.get_current_context().exit(ExitCode.PROBLEMS)


def _print_table(checks: list[Check]) -> None:
    table = make_table("Check", "", "Found")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for check in checks:
        found = plain(check.found)
        if check.way_out:
            found.append(f"\n{check.way_out}", style="dim")
        table.add_row(check.name, Text(check.finding, style=_STYLES[check.finding]), found)
    make_console().print(table)


def _summary(problems: int) -> str:
    match problems:
        case 0:
            return "No problems found."
        case 1:
            return "There is 1 problem."
        case _:
            return f"There are {problems} problems."
