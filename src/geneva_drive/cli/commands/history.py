"""`geneva history`: every attempt at every step, and the commands of operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.approval_tables import requests_table
from geneva_drive.cli.output.approval_views import ApprovalView, views_of
from geneva_drive.cli.output.command_table import commands_table
from geneva_drive.cli.output.console import (
    fits,
    make_console,
    make_table,
    moment,
    moment_of_year,
    plain,
    print_json,
    state_text,
)
from geneva_drive.cli.output.headline import headline
from geneva_drive.cli.output.names import cursor_words, item_words, name_of
from geneva_drive.cli.output.resume_requests import resume_requests_table
from geneva_drive.cli.parameters import json_option, workflow_id_argument
from geneva_drive.definition.workflow import Workflow
from geneva_drive.display import short_name
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.elapsed import took
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.step_execution import Checkpoint, StepExecution
from geneva_drive.drive.views.kept_checkpoints import interruptions, skipped_items
from geneva_drive.drive.views.trace import kept_of, trace_body
from geneva_drive.states import ResumeTrigger, is_done
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.waits.approval_records import ResumeRequestRecord

_MOST_ITEMS = 20


@click.command("history")
@workflow_id_argument
@click.option("--traceback", is_flag=True, help="Print the traceback of each error.")
@json_option
@with_drive
def command(drive: Drive, workflow_id: str, traceback: bool, as_json: bool) -> None:
    """Print every attempt at the steps of a workflow, and the commands of operators."""
    workflow = drive.workflows(Workflow).find(workflow_id)
    executions = workflow.step_executions
    approvals = drive.approvals.of_workflow(workflow.id).all()
    if as_json:
        print_json(trace_body(drive, workflow))
        return
    console = make_console()
    console.print(headline(workflow))
    if workflow.definition_version is not None and workflow.stored_result is not None:
        reason = f": {workflow.result_reason}" if workflow.result_reason else ""
        console.print(plain(f"Result: {workflow.result}{reason}"))
    _print_attempts(console, executions)
    _print_errors(console, executions, with_traceback=traceback)
    _print_loops(console, executions, kept_of(drive, workflow))
    _print_approvals(console, views_of(drive, approvals))
    _print_commands(console, workflow)
    _print_resume_requests(console, workflow.resume_requests)


def _print_attempts(console: Console, executions: Sequence[StepExecution]) -> None:
    table = _attempts(executions, moment)
    if not fits(console, table):
        table = _attempts(executions, moment_of_year)
    console.print()
    console.print(table)


def _attempts(executions: Sequence[StepExecution], when: Callable[[datetime], str]) -> Table:
    has_items = any(execution.progress for execution in executions)
    table = make_table(
        "Step", "Attempt", "Outcome", *(["Items"] if has_items else []), "When (UTC)", "Took"
    )
    table.columns[1].justify = "right"
    table.columns[3].justify = "right" if has_items else "left"
    for column in (table.columns[2], *table.columns[-2:]):
        column.no_wrap = True
    for execution in executions:
        items = f"{execution.completed_iterations:,}" if execution.progress else ""
        table.add_row(
            plain(name_of(execution)),
            str(execution.attempt_number),
            state_text(execution.state, execution.outcome_words),
            *([items] if has_items else []),
            when(execution.started_at or execution.scheduled_for),
            took(execution),
        )
    return table


def _print_errors(
    console: Console, executions: Sequence[StepExecution], *, with_traceback: bool
) -> None:
    for execution in executions:
        if execution.error_class:
            where = plain(f"{name_of(execution)}, attempt {execution.attempt_number}:")
            where.stylize("red")
            error = plain(f" {_name(execution)}: {execution.error_message}")
            console.print()
            console.print(Text.assemble(where, error))
            if with_traceback and execution.error_backtrace:
                console.print(plain(execution.error_backtrace.rstrip()), soft_wrap=True)


def _print_loops(
    console: Console,
    executions: Sequence[StepExecution],
    kept: Mapping[Key, Sequence[Checkpoint]],
) -> None:
    for execution in executions:
        where = f"{name_of(execution)}, attempt {execution.attempt_number}"
        # The cursor of a batch worker stays stored when it is done.
        is_open = not is_done(execution.state, execution.outcome)
        if execution.stored_cursor is not None and is_open:
            console.print()
            console.print(plain(f"{where}: at {cursor_words(execution.stored_cursor)}"))
        rows = kept.get(execution.id, ())
        _print_interruptions(console, where, interruptions(rows))
        _print_skipped(console, where, skipped_items(rows))


def _print_interruptions(console: Console, where: str, stops: Sequence[Checkpoint]) -> None:
    if not stops:
        return
    reasons = Counter(stop.reason for stop in stops).most_common()
    causes = [f"{count:,} by {reason}" for reason, count in reasons]
    how = f": {', '.join(causes)}" if len(causes) > 1 else f" by {stops[0].reason}"
    console.print()
    console.print(plain(f"{where}: interrupted {_times(len(stops))}{how}"))


def _print_skipped(console: Console, where: str, skipped: Sequence[Checkpoint]) -> None:
    if not skipped:
        return
    shown = f"; the first {_MOST_ITEMS}" if len(skipped) > _MOST_ITEMS else ""
    count = "1 item was" if len(skipped) == 1 else f"{len(skipped):,} items were"
    table = make_table("Item", "Error")
    for one in skipped[:_MOST_ITEMS]:
        table.add_row(plain(item_words(one)), plain(f"{_name(one)}: {one.error_message}"))
    console.print()
    console.print(plain(f"{where}: {count} skipped{shown}:"))
    console.print(table)


def _name(failed: StepExecution | Checkpoint) -> str:
    return short_name(failed.error_class or "")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _print_approvals(console: Console, views: Sequence[ApprovalView]) -> None:
    if views:
        console.print()
        console.print(requests_table(console, views))


def _print_resume_requests(console: Console, requests: Sequence[ResumeRequestRecord]) -> None:
    # The commands of operators are listed anyway; decisions and deadlines are not.
    if any(one.trigger is not ResumeTrigger.MANUAL for one in requests):
        console.print()
        console.print(resume_requests_table(requests))


def _print_commands(console: Console, workflow: WorkflowHandle[Any]) -> None:
    entries = workflow.audit_entries
    if entries:
        is_about_one = any(entry.approval_id is not None for entry in entries)
        console.print()
        console.print(commands_table(entries, with_approvals=is_about_one))
