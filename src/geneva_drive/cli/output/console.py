"""What commands print: Rich for people, JSON for machines."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from geneva_drive.states import StepState, WorkflowState

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

# Wide enough that a pipe gets whole lines, as grep and awk want them.
_PIPE_WIDTH = 1000


def make_console() -> Console:
    """Make the console of this command; a terminal and COLUMNS say how wide it is."""
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


def print_json(body: Any) -> None:
    click.echo(json.dumps(body, indent=2))


def plain(text: object) -> Text:
    """Show stored text as it is: neither markup nor a terminal's control codes take effect."""
    shown = (c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return Text("".join(shown))


def state_text(state: WorkflowState | StepState, words: str | None = None) -> Text:
    return Text(words or state, style=_STYLES[state])


def moment(at: datetime | None) -> str:
    """Write a moment of UTC; a table's header or the text around it says so."""
    return at.strftime("%Y-%m-%d %H:%M:%S") if at else ""
