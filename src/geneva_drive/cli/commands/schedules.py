"""`geneva schedules`: list the schedules, or pause, resume, run or inspect one."""

from __future__ import annotations

from datetime import UTC

import click
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.completion import schedule_types
from geneva_drive.cli.drive_options import DriveOptions, with_drive, with_drive_options
from geneva_drive.cli.output.console import (
    make_console,
    make_table,
    moment,
    plain,
    print_json,
)
from geneva_drive.cli.parameters import audit_options, json_option, limit_option
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.schedules import Schedule, ScheduleRun
from geneva_drive.drive.views.execution_bodies import schedule_body, schedule_run_body
from geneva_drive.states import SkippedReason

_SHOWN = 20
_EMPTY = (
    "No schedules found. A workflow class has one if it sets schedule = gd.cron(...); name the "
    "module with --app. A document has one if its trigger is a schedule."
)
_STYLES = {"started": "green", "queued": "yellow", "skipped": "magenta"}

_type_argument = click.argument("type_name", metavar="TYPE", shell_complete=schedule_types)


@click.group("schedules", invoke_without_command=True)
@json_option
@with_drive_options
def command(options: DriveOptions, as_json: bool) -> None:
    """List the schedules; or pause, resume, run or inspect one."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    schedules = options.drive().schedules.list()
    if as_json:
        print_json({"items": [schedule_body(one) for one in schedules], "next_cursor": None})
    elif schedules:
        make_console().print(_table(schedules))
    else:
        click.echo(_EMPTY)


def _table(schedules: list[Schedule]) -> Table:
    table = make_table("Type", "Cron", "Time zone", "Next run (UTC)", "Last run (UTC)", "State")
    for schedule in schedules:
        table.add_row(
            plain(schedule.type),
            plain(schedule.cron),
            plain(schedule.timezone),
            moment(schedule.next_at),
            "" if schedule.last_run is None else _last_run(schedule.last_run),
            _state(schedule),
        )
    return table


def _last_run(run: ScheduleRun) -> Text:
    return plain(f"{moment(run.at)} ").append_text(_fate(run))


def _fate(run: ScheduleRun) -> Text:
    words = f"workflow {run.workflow_id}"
    if run.skipped_reason is not None:
        words = f"skipped: {run.skipped_reason}"
    elif run.workflow_id is None:
        words = "queued"
    if run.skipped_reason is SkippedReason.OVERLAP:
        words += f" with workflow {run.blocked_by}"
    return Text(words, style=_STYLES[run.state])


def _state(schedule: Schedule) -> Text:
    queued = f", {schedule.queued_count} queued" if schedule.queued_count else ""
    if schedule.paused_at is not None:
        by = f" by {schedule.paused_by}" if schedule.paused_by else ""
        why = f": {schedule.paused_reason}" if schedule.paused_reason else ""
        return plain(f"paused{by}{queued}{why}")
    if schedule.seen_at is None:
        return Text("no worker has seen it", style="dim")
    return Text(f"active{queued}" if schedule.next_at else f"over{queued}", style="green")


@command.command("pause")
@_type_argument
@audit_options
@json_option
@with_drive
def pause(drive: Drive, /, type_name: str, as_json: bool, **why: str | None) -> None:
    """Pause a schedule; runs that fall due meanwhile are skipped."""
    _show(drive.schedules.pause(type_name, **why), as_json)


@command.command("resume")
@_type_argument
@audit_options
@json_option
@with_drive
def resume(drive: Drive, /, type_name: str, as_json: bool, **why: str | None) -> None:
    """Resume a paused schedule: it fires again from now on."""
    _show(drive.schedules.resume(type_name, **why), as_json)


def _show(schedule: Schedule, as_json: bool) -> None:
    if as_json:
        print_json(schedule_body(schedule))
    else:
        make_console().print(_table([schedule]))


@command.command("run")
@_type_argument
@audit_options
@json_option
@with_drive
def run(drive: Drive, /, type_name: str, as_json: bool, **why: str | None) -> None:
    """Run a schedule now, if its overlap setting allows it. Needs --app."""
    ran = drive.schedules.run_now(type_name, **why)
    if as_json:
        print_json(schedule_run_body(ran))
    else:
        make_console().print(plain(f"{ran.type}: ").append_text(_fate(ran)))


@command.command("next")
@_type_argument
@click.option(
    "--count",
    type=click.IntRange(1, 1000),
    default=5,
    show_default=True,
    help="How many runs to print.",
)
@json_option
@with_drive
def next_moments(drive: Drive, type_name: str, count: int, as_json: bool) -> None:
    """Print when a schedule fires next, in its time zone and in UTC."""
    moments = drive.schedules.next(type_name, count)
    if as_json:
        print_json({"items": [one.isoformat() for one in moments]})
        return
    table = make_table("Local time", "", "UTC")
    for one in moments:
        table.add_row(f"{one:%a %Y-%m-%d %H:%M:%S}", f"{one:%Z}", moment(one.astimezone(UTC)))
    make_console().print(table)


@command.command("runs")
@_type_argument
@limit_option(_SHOWN)
@json_option
@with_drive
def runs(drive: Drive, type_name: str, limit: int | None, as_json: bool) -> None:
    """List the runs of a schedule, the newest first.

    Skipped runs are listed with the reason.
    """
    if as_json:
        found = drive.schedules.runs(type_name, limit)
        print_json({"items": [schedule_run_body(one) for one in found], "next_cursor": None})
        return
    found = drive.schedules.runs(type_name, limit or _SHOWN)
    if not found:
        click.echo("It has not run yet.")
        return
    table = make_table("At (UTC)", "Result", "By")
    for one in found:
        by = (one.actor or "hand") if one.is_manual else "schedule"
        table.add_row(moment(one.at), _fate(one), plain(by))
    make_console().print(table)
