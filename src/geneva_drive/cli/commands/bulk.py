"""`geneva bulk`: give one command to many workflows."""

from __future__ import annotations

import sys
import time
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import make_console, make_table, plain, print_json
from geneva_drive.cli.parameters import audit_options, json_option
from geneva_drive.display import shown
from geneva_drive.drive.bulk.bulk import BulkPreview
from geneva_drive.drive.bulk.bulk_command import BulkCommand
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.views.bulk_bodies import preview_body
from geneva_drive.drive.views.execution_bodies import bulk_body, key_body

_LOOK_SECONDS = 0.5
_DONE = {
    BulkCommand.PAUSE: "paused",
    BulkCommand.RESUME: "resumed",
    BulkCommand.CANCEL: "canceled",
    BulkCommand.SKIP: "skipped at their step",
    BulkCommand.REATTEMPT: "reattempted",
    BulkCommand.RESET_FOR_RETRY: "reset for another attempt",
}


@click.command("bulk")
@click.argument("name", metavar="COMMAND", type=click.Choice([one.value for one in BulkCommand]))
@click.option(
    "--where",
    "filters",
    metavar="KEY=VALUE",
    multiple=True,
    help="A filter, such as type=Order, state=paused, step=charge, error_class=... or message=...; "
    "repeat it to narrow the choice.",
)
@click.option("--dry-run", is_flag=True, help="Only count the workflows, and list the first few.")
@click.option("--first", type=int, metavar="N", help="Start with N; do the rest if those pass.")
@click.option(
    "--stop-after", type=int, metavar="N", help="Stop once N workflows have failed again."
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--no-wait", is_flag=True, help="Do not wait until it is done.")
@audit_options
@json_option
@with_drive
def command(
    drive: Drive,
    /,
    name: str,
    filters: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    no_wait: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run one command on all workflows that match the filters."""
    chosen, where = BulkCommand(name), _where(filters)
    preview = drive.bulk(chosen, where, dry_run=True, **options)
    if dry_run:
        _print_preview(chosen, preview, as_json=as_json)
        return
    if not yes:
        _confirm(chosen, preview)
    workflow = drive.bulk(chosen, where, **options)
    is_served = any(one.is_alive for one in drive.workers)
    if is_served and not no_wait:
        _wait(workflow)
    _print(workflow, as_json=as_json)


def _where(filters: tuple[str, ...]) -> dict[str, str]:
    where: dict[str, str] = {}
    for text in filters:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise click.UsageError(
                f"--where {shown(text)} must have the form KEY=VALUE, such as type=Order."
            )
        where[key] = value
    return where


def _confirm(chosen: BulkCommand, preview: BulkPreview) -> None:
    sentence = _sentence(chosen, preview.count)
    if not sys.stdin.isatty():
        raise click.UsageError(f"{sentence} There is no terminal to confirm it at: pass --yes.")
    click.confirm(f"{sentence} Continue?", abort=True, err=True)


def _sentence(chosen: BulkCommand, count: int) -> str:
    noun = "workflow" if count == 1 else "workflows"
    return f"{count:,} {noun} will be {_DONE[chosen]}."


def _print_preview(chosen: BulkCommand, preview: BulkPreview, *, as_json: bool) -> None:
    if as_json:
        print_json(preview_body(preview))
        return
    console = make_console()
    console.print(plain(_sentence(chosen, preview.count)))
    if preview.sample:
        table = make_table("ID", "Type", "State", "Step", "Reason")
        for one in preview.sample:
            table.add_row(
                str(one.id),
                plain(one.type or "(dynamic)"),
                one.state,
                plain(one.paused_step_name or one.next_step_name or ""),
                plain(one.paused_reason or ""),
            )
        console.print(table)


def _wait(workflow: WorkflowHandle[Any]) -> None:
    """Show the progress until the bulk ends or is paused."""
    columns = (TextColumn("bulk {task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(str(workflow.id), total=None)
        try:
            while True:
                bulk = workflow.reload().bulk
                assert bulk is not None, "it is a bulk"
                bar.update(task, completed=bulk.done, total=bulk.total)
                if not workflow.is_ongoing or workflow.paused_at is not None:
                    return
                time.sleep(_LOOK_SECONDS)
        except KeyboardInterrupt:
            click.echo(
                f"The bulk continues. To stop it: geneva cancel {workflow.id}. To watch it: "
                f"geneva watch {workflow.id}.",
                err=True,
            )


def _print(workflow: WorkflowHandle[Any], *, as_json: bool) -> None:
    bulk = workflow.reload().bulk
    assert bulk is not None, "it is a bulk"
    if as_json:
        print_json({"id": key_body(workflow.id), "state": workflow.state, **bulk_body(bulk)})
        return
    console = make_console()
    console.print(
        plain(
            f"Bulk {workflow.id} is {workflow.state}: {bulk.done:,} of {bulk.total:,} done, "
            f"{bulk.applied:,} applied, {bulk.passed_over:,} passed over, "
            f"{bulk.failed_again:,} failed again."
        )
    )
    for reason, count in bulk.reasons.items():
        console.print(plain(f"  {count:,} refused: {reason}"))
    console.print(plain(bulk.stopped or workflow.why()))
