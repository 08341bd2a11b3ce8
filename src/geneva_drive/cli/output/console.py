"""The console, tables and text of all commands."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from geneva_drive.states import ApprovalState, StepState, WorkflowState

_STYLES: dict[str, str] = {
    WorkflowState.READY: "cyan",
    WorkflowState.PERFORMING: "bold blue",
    WorkflowState.PAUSED: "bold yellow",
    WorkflowState.FINISHED: "green",
    WorkflowState.CANCELED: "red",
    StepState.PENDING: "dim",
    StepState.SCHEDULED: "cyan",
    StepState.IN_PROGRESS: "bold blue",
    StepState.SUSPENDED: "yellow",
    StepState.WAITING: "yellow",
    StepState.COMPLETED: "green",
    StepState.FAILED: "bold red",
    StepState.SKIPPED: "magenta",
}
_APPROVAL_STYLES = {
    ApprovalState.PENDING: "bold yellow",
    ApprovalState.APPROVED: "green",
    ApprovalState.REJECTED: "red",
    ApprovalState.EXPIRED: "magenta",
    ApprovalState.CANCELED: "dim",
}

# A pipe gets whole lines, for grep and awk.
_PIPE_WIDTH = 1000


def make_console() -> Console:
    """Return a console as wide as the terminal or COLUMNS; in a pipe, it does not wrap."""
    has_width = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if has_width else _PIPE_WIDTH, highlight=False)


def make_table(*headers: str) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        collapse_padding=True,
        header_style="bold",
    )
    for header in headers:
        table.add_column(header, overflow="fold")
    return table


def fits(console: Console, table: Table) -> bool:
    """True if no line of the table would be broken."""
    unlimited = console.options.update_width(sys.maxsize)
    return console.measure(table, options=unlimited).maximum <= console.width


def first_that_fits(console: Console, tables: Iterable[Table]) -> Table:
    """Return the first table whose lines fit, or the last one; tables are built on demand."""
    narrowest = make_table()
    for narrowest in tables:
        if fits(console, narrowest):
            break
    return narrowest


def print_json(body: Any) -> None:
    click.echo(json.dumps(body, indent=2))


def plain(text: object) -> Text:
    """Return stored text that cannot act on the terminal: no markup, no control codes."""
    shown = (c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return Text("".join(shown))


def state_text(state: WorkflowState | StepState, words: str | None = None) -> Text:
    """Return a state or an outcome with its style, underscores as spaces."""
    return Text((words or state).replace("_", " "), style=_STYLES[state])


def approval_state_text(state: ApprovalState) -> Text:
    return Text(state, style=_APPROVAL_STYLES[state])


def moment(at: datetime | None) -> str:
    """Format a moment in UTC; the table's header or the text around it names the zone."""
    return at.strftime("%Y-%m-%d %H:%M:%S") if at else ""


def moment_of_year(at: datetime) -> str:
    """Format a moment in UTC without its year, for tables that are too wide."""
    return at.strftime("%m-%d %H:%M:%S")
