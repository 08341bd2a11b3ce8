"""`geneva dlq`: list, show, retry or resolve dead letters."""

from __future__ import annotations

import json

import click
from rich.table import Table

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import (
    make_console,
    make_table,
    moment,
    plain,
    print_json,
)
from geneva_drive.cli.output.headline import headline
from geneva_drive.cli.output.names import readable
from geneva_drive.cli.parameters import (
    actor_option,
    dead_letter_id_argument,
    json_option,
    limit_option,
)
from geneva_drive.definition.workflow import Workflow
from geneva_drive.display import short_name
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.views.execution_bodies import dead_letter_body
from geneva_drive.states import DeadLetterState
from geneva_drive.storage.schema.records import DeadLetterRecord

_SHOWN = 50
_notes_option = click.option("--notes", metavar="TEXT", help="What was found or done.")


@click.group("dlq")
def command() -> None:
    """List, show, retry or resolve dead letters: workflows that need an operator."""


@command.command("list")
@click.option(
    "--state",
    type=click.Choice([*(state.value for state in DeadLetterState), "all"]),
    default=DeadLetterState.PENDING.value,
    show_default=True,
    help="Only entries in this state.",
)
@limit_option(_SHOWN)
@json_option
@with_drive
def list_entries(drive: Drive, state: str, limit: int | None, as_json: bool) -> None:
    """List the dead letters, the worst reasons first, then the oldest."""
    wanted = None if state == "all" else state
    if as_json:
        found = drive.dead_letters.list(wanted, limit)
        print_json({"items": [dead_letter_body(one) for one in found], "next_cursor": None})
        return
    most = _SHOWN if limit is None else limit
    found = drive.dead_letters.list(wanted, most + 1)
    if not found:
        click.echo("No dead letters found.")
        return
    make_console().print(_table(found[:most], with_states=wanted is None))
    if len(found) > most:
        click.echo(f"\nThere are more than {most}. Raise --limit to see them.")


def _table(entries: list[DeadLetterRecord], *, with_states: bool) -> Table:
    states = ["State"] if with_states else []
    table = make_table("ID", "Workflow", "Step", "Reason", *states, "Since (UTC)", "Error")
    for entry in entries:
        table.add_row(
            plain(entry.id),
            plain(entry.workflow_id),
            plain(entry.step_name or ""),
            plain(entry.reason),
            *([plain(entry.state)] if with_states else []),
            moment(entry.created_at),
            plain(_error(entry)),
        )
    return table


def _error(entry: DeadLetterRecord) -> str:
    error = entry.snapshot.get("error")
    return short_name(f"{error['class']}: {error['message']}") if error else ""


@command.command("show")
@dead_letter_id_argument
@json_option
@with_drive
def show(drive: Drive, entry_id: str, as_json: bool) -> None:
    """Show one dead letter, with the snapshot of its workflow."""
    entry = drive.dead_letters.get(entry_id)
    if as_json:
        print_json(dead_letter_body(entry))
        return
    grid = Table.grid(padding=(0, 3))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in _facts(entry):
        if value:
            grid.add_row(name, plain(value))
    make_console().print(grid)


def _facts(entry: DeadLetterRecord) -> list[tuple[str, object]]:
    snapshot = entry.snapshot
    nodes = snapshot.get("nodes", {})
    checkpoint = snapshot.get("checkpoint")
    resolved = f"{moment(entry.resolved_at)} UTC by {entry.resolved_by}"
    return [
        ("Dead letter", f"{entry.id} ({entry.state})"),
        ("Workflow", entry.workflow_id),
        ("Step", entry.step_name),
        ("Reason", entry.reason),
        ("Since", f"{moment(entry.created_at)} UTC"),
        ("Resolved", resolved if entry.resolved_at else None),
        ("Notes", entry.notes),
        ("Error", _error(entry)),
        ("Checkpoint", readable(json.dumps(checkpoint)) if checkpoint else None),
        ("Worker", snapshot.get("worker")),
        ("Nodes", ", ".join(f"{name} ({state})" for name, state in nodes.items())),
    ]


@command.command("retry")
@dead_letter_id_argument
@_notes_option
@actor_option
@json_option
@with_drive
def retry(drive: Drive, entry_id: str, notes: str | None, actor: str | None, as_json: bool) -> None:
    """Run the failed step again, and resolve the entry. Needs --app.

    If no step has failed, the workflow is resumed.
    """
    entry = drive.dead_letters.retry(entry_id, actor=actor, notes=notes)
    if as_json:
        print_json(dead_letter_body(entry))
        return
    workflow = drive.workflows(Workflow).find(entry.workflow_id)
    console = make_console()
    console.print(headline(workflow))
    console.print(plain(workflow.why()))


@command.command("resolve")
@dead_letter_id_argument
@_notes_option
@actor_option
@json_option
@with_drive
def resolve(
    drive: Drive, entry_id: str, notes: str | None, actor: str | None, as_json: bool
) -> None:
    """Mark an entry as dealt with; its workflow does not change."""
    entry = drive.dead_letters.resolve(entry_id, actor=actor, notes=notes)
    if as_json:
        print_json(dead_letter_body(entry))
    else:
        click.echo(f"Dead letter {entry.id} of workflow {entry.workflow_id} is resolved.")
