"""`geneva show`: one workflow in detail."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

import click
from rich.table import Table

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.graph.node_table import nodes_by_level
from geneva_drive.cli.output import loops
from geneva_drive.cli.output.approval_tables import approval_rows
from geneva_drive.cli.output.approval_views import views_of
from geneva_drive.cli.output.batches import words
from geneva_drive.cli.output.consequences import show_consequences
from geneva_drive.cli.output.console import make_console, moment, plain, print_json
from geneva_drive.cli.output.event_waits import event_wait_rows, read_event_waits
from geneva_drive.cli.output.headline import headline, type_words
from geneva_drive.cli.output.names import readable
from geneva_drive.cli.output.worker_tables import (
    FAILED_ITEM_COLUMNS,
    failed_item_row,
    failed_items_table,
    workers_table,
    workers_to_show,
)
from geneva_drive.cli.parameters import json_option, workflow_id_argument
from geneva_drive.definition.workflow import Workflow
from geneva_drive.display import short_name
from geneva_drive.drive.batch_progress import BatchProgress, read_batches
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.graph.graph_view import view_of_workflow
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.views.execution_bodies import (
    batch_body,
    body_with_children,
    failed_item_body,
    node_body,
)

_MOST_CHILDREN = 10


@click.command("show")
@workflow_id_argument
@click.option("--failed-items", is_flag=True, help="List the items that loops have skipped.")
@click.option("--what-if", is_flag=True, help="List possible commands and their effects.")
@click.option("--csv", "as_csv", is_flag=True, help="With --failed-items: print CSV.")
@json_option
@with_drive
def command(
    drive: Drive,
    workflow_id: str,
    failed_items: bool,
    what_if: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show one workflow in detail, or the items that failed in it.

    --what-if lists the commands that are possible now, and what each would do.

    If a batch or map has more than 20 workers, only those that failed or are running are listed.
    """
    if as_csv and (as_json or not failed_items):
        raise click.UsageError("--csv needs --failed-items, and cannot be used with --json.")
    if what_if and failed_items:
        raise click.UsageError("--what-if and --failed-items cannot be used together.")
    workflow = drive.workflows(Workflow).find(workflow_id)
    if failed_items:
        _show_failed_items(workflow, as_csv=as_csv, as_json=as_json)
    elif what_if:
        show_consequences(workflow, as_json=as_json)
    elif as_json:
        print_json(_body(drive, workflow))
    else:
        _show(drive, workflow)


def _body(drive: Drive, workflow: WorkflowHandle[Any]) -> dict[str, Any]:
    body = body_with_children(workflow)
    if not workflow.is_graph:
        return body
    view = view_of_workflow(drive, workflow.id)
    body["nodes"] = [node_body(node) for node in view.every_node()]
    if view.workers:
        body["batches"] = [batch_body(batch) for batch in _batches(drive, workflow)]
    return body


def _show(drive: Drive, workflow: WorkflowHandle[Any]) -> None:
    console, now = make_console(), drive.clock.now()
    batches = _batches(drive, workflow)
    console.print(headline(workflow))
    console.print(plain(workflow.why()))
    console.print()
    console.print(_facts(drive, workflow, batches))
    if workflow.is_graph:
        console.print()
        console.print(nodes_by_level(view_of_workflow(drive, workflow.id), now))
    for batch in batches:
        found = workers_to_show(drive, workflow.id, batch)
        workers = [drive.open_execution(one) for one in found]
        for part in workers_table(console, batch, workers, now):
            console.print(part)


def _show_failed_items(workflow: WorkflowHandle[Any], *, as_csv: bool, as_json: bool) -> None:
    items = workflow.failed_items()
    if as_json:
        print_json({"failed_items": [failed_item_body(one) for one in items]})
        return
    if as_csv:
        text = io.StringIO()
        csv.writer(text).writerows([FAILED_ITEM_COLUMNS, *map(failed_item_row, items)])
        click.echo(text.getvalue(), nl=False)
        return
    console = make_console()
    console.print(headline(workflow))
    count = "1 item" if len(items) == 1 else f"{len(items):,} items"
    console.print(f"{count} failed and {'was' if len(items) == 1 else 'were'} skipped.")
    if items:
        console.print()
        console.print(failed_items_table(items))


def _batches(drive: Drive, workflow: WorkflowHandle[Any]) -> tuple[BatchProgress, ...]:
    """Read the batches and maps, which need no class to be shown."""
    store, now = drive.store, drive.clock.now()
    with store.reading() as connection:
        record = store.workflows.get(connection, workflow.id)
        return () if record is None else read_batches(connection, store, record, now)


def _facts(drive: Drive, workflow: WorkflowHandle[Any], batches: Sequence[BatchProgress]) -> Table:
    grid = Table.grid(padding=(0, 3))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    views = views_of(drive, drive.approvals.of_workflow(workflow.id).all())
    waits = (
        *approval_rows(views, drive.clock.now()),
        *event_wait_rows(read_event_waits(drive, workflow.id)),
    )
    for name, value in (*_what(drive, workflow, batches), *waits, *_when(workflow)):
        if value:
            grid.add_row(name, plain(value))
    if workflow.stored_context != "{}":
        grid.add_row("Context", plain(readable(workflow.stored_context, indent=2)))
    if (result := workflow.stored_result) is not None:
        grid.add_row("Result", plain(readable(result, indent=2)))
    if workflow.result_reason is not None:
        grid.add_row("Because", plain(workflow.result_reason))
    return grid


def _what(
    drive: Drive, workflow: WorkflowHandle[Any], batches: Sequence[BatchProgress]
) -> Iterator[tuple[str, str | None]]:
    yield "Template", workflow.template
    yield "Version", workflow.definition_version
    yield "Hero", f"{workflow.hero_type}/{workflow.hero_id}" if workflow.hero_type else None
    yield "Started by", workflow.started_by
    yield "Parent", _parent(workflow)
    yield "Children", _children(workflow)
    yield "Running", workflow.current_step_name
    yield "Paused step", workflow.paused_step_name
    if workflow.paused_step_name is None:
        yield "Next step", workflow.next_step_name
    yield "Last step", workflow.previous_step_name
    if workflow.workflow_class is not None:
        progress = workflow.progress()
        noun = "nodes" if workflow.is_graph else "steps"
        yield "Progress", f"{progress.done:,} of {progress.total:,} {noun}"
    for batch in batches:
        yield batch.name, words(batch)
    if workflow.type is not None:
        yield from _loops(drive, workflow)
    if workflow.workflow_class is not None:
        yield "Queue", f"{workflow.queue}, priority {workflow.priority}"
    yield "Requested", workflow.requested


def _parent(workflow: WorkflowHandle[Any]) -> str | None:
    parent = workflow.parent
    if parent is None:
        return None
    return f"{type_words(parent)} {parent.id}, {workflow.parent_node!r}"


def _children(workflow: WorkflowHandle[Any]) -> str:
    children = workflow.children
    named = [f"{type_words(one)} {one.id} ({one.state})" for one in children[:_MOST_CHILDREN]]
    more = len(children) - len(named)
    return ", ".join([*named, *([f"and {more:,} more"] if more else [])])


def _loops(drive: Drive, workflow: WorkflowHandle[Any]) -> Iterator[tuple[str, str]]:
    """Yield the progress of each resumable step that is not done."""
    store = drive.store
    latest = store.read(lambda connection: store.attempts.latest_of(connection, workflow.id))
    for execution in loops.under_way(drive.open_execution(one) for one in latest):
        yield execution.node_id, loops.position_words(execution)


def _when(workflow: WorkflowHandle[Any]) -> Iterator[tuple[str, str | None]]:
    for name, at in (
        ("Created", workflow.created_at),
        ("Started", workflow.started_at),
        ("Updated", workflow.updated_at),
        ("Paused", workflow.paused_at),
        ("Finished", workflow.finished_at),
        ("Canceled", workflow.canceled_at),
    ):
        yield name, f"{moment(at)} UTC" if at else None
    yield "Reason", short_name(workflow.paused_reason or "")
