"""`geneva check`: list ongoing workflows that the code cannot continue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.text import Text

from geneva_drive.cli.drive_options import DriveOptions, with_drive_options
from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.output.console import make_console, make_table, plain, print_json
from geneva_drive.cli.parameters import json_option
from geneva_drive.drive.compatibility import Obstacle, Stuck, check
from geneva_drive.drive.views.execution_bodies import key_body

_NO_APP = (
    "Without --app, geneva knows none of your classes and jobs. Name the code to deploy: "
    "`geneva check --app package.module`."
)


@click.command("check")
@json_option
@with_drive_options
def command(options: DriveOptions, as_json: bool) -> None:
    """List ongoing workflows that the code in --app cannot continue.

    To gate a deploy, run it with the new code against the production database. It exits with 6 if
    it finds any, else with 0. Warnings do not count.
    """
    found = check(options.drive())
    problems = [stuck for stuck in found if not stuck.is_warning]
    if as_json:
        print_json({"ok": not problems, "findings": [_body(stuck) for stuck in found]})
    else:
        _print_found(found)
        click.echo(_summary(problems))
    if options.app is None and any(s.obstacle in _CODE_UNKNOWN for s in found):
        click.echo(f"geneva: {_NO_APP}", err=True)
    if problems:
        click.get_current_context().exit(ExitCode.PROBLEMS)


_CODE_UNKNOWN = (Obstacle.CLASS_UNKNOWN, Obstacle.JOB_UNKNOWN, Obstacle.CHILD_CLASS_UNKNOWN)


def _print_found(found: Sequence[Stuck]) -> None:
    if not found:
        return
    table = make_table("Type", "", "Workflows", "Found", "Examples")
    table.columns[1].no_wrap = True
    table.columns[2].justify = "right"
    for stuck in found:
        words = plain(stuck.reason)
        words.append(f"\n{plain(stuck.way_out).plain}", style="dim")
        table.add_row(
            plain(stuck.type or "dynamic"),
            Text("warning", "yellow") if stuck.is_warning else Text("problem", "bold red"),
            f"{stuck.workflow_count:,}",
            words,
            plain(", ".join(str(example) for example in stuck.examples)),
        )
    console = make_console()
    console.print(table)
    console.print()


def _summary(problems: Sequence[Stuck]) -> str:
    if not problems:
        return "Every ongoing workflow can continue with this code."
    if not any(stuck.workflow_count for stuck in problems):
        return "Every ongoing workflow can continue with this code, but not every document can run."
    return "Some ongoing workflows cannot continue with this code."


def _body(stuck: Stuck) -> dict[str, Any]:
    return {
        "type": stuck.type,
        "obstacle": stuck.obstacle,
        "is_warning": stuck.is_warning,
        "name": stuck.name,
        "workflow_count": stuck.workflow_count,
        "examples": [key_body(example) for example in stuck.examples],
        "reason": stuck.reason,
        "way_out": stuck.way_out,
    }
