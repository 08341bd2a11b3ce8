"""`geneva history`: every attempt at every step, and what operators did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from geneva_drive.cli.bodies import execution_body, step_body
from geneva_drive.cli.headline import headline
from geneva_drive.cli.opening import with_drive
from geneva_drive.cli.output import make_console, make_table, moment, plain, print_json, state_text
from geneva_drive.cli.parameters import json_option, workflow_id_argument
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handles import WorkflowHandle
from geneva_drive.drive.step_executions import StepExecution
from geneva_drive.durations import describe


@click.command("history")
@workflow_id_argument
@json_option
@with_drive
def command(drive: Drive, workflow_id: str, as_json: bool) -> None:
    """Tell what a workflow did, attempt by attempt, and what was done to it."""
    workflow = drive.workflows(Workflow).find(workflow_id)
    executions = workflow.step_executions
    if as_json:
        steps = [step_body(execution) for execution in executions]
        print_json({"execution": execution_body(workflow), "steps": steps})
        return
    console = make_console()
    console.print(headline(workflow))
    _print_attempts(console, executions)
    _print_errors(console, executions)
    _print_commands(console, workflow)


def _print_attempts(console: Console, executions: Sequence[StepExecution]) -> None:
    table = make_table("Step", "Attempt", "Outcome", "When (UTC)", "Took")
    table.columns[1].justify = "right"
    table.columns[3].no_wrap = table.columns[4].no_wrap = True
    for execution in executions:
        table.add_row(
            plain(execution.step_name),
            str(execution.attempt_number),
            state_text(execution.state, execution.outcome),
            moment(execution.started_at or execution.scheduled_for),
            _took(execution),
        )
    console.print()
    console.print(table)


def _took(execution: StepExecution) -> str:
    if execution.started_at is None or execution.finished_at is None:
        return ""
    return describe(execution.finished_at - execution.started_at)


def _print_errors(console: Console, executions: Sequence[StepExecution]) -> None:
    for execution in executions:
        if execution.error_class:
            where = plain(f"{execution.step_name}, attempt {execution.attempt_number}:")
            where.stylize("red")
            name = execution.error_class.removeprefix("builtins.")
            error = plain(f" {name}: {execution.error_message}")
            console.print()
            console.print(Text.assemble(where, error))


def _print_commands(console: Console, workflow: WorkflowHandle[Any]) -> None:
    entries = workflow.audit_entries
    if not entries:
        return
    table = make_table("Command", "At (UTC)", "Actor", "Reason")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for entry in entries:
        table.add_row(
            entry.command, moment(entry.at), plain(entry.actor or ""), plain(entry.reason or "")
        )
    console.print()
    console.print(table)
