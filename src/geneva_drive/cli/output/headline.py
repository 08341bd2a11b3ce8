"""The line that names a workflow above all that is said of it."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from geneva_drive.cli.output.console import plain, state_text
from geneva_drive.drive.handle import WorkflowHandle


def headline(workflow: WorkflowHandle[Any]) -> Text:
    name = plain(f"{type_words(workflow)} {workflow.id}")
    name.stylize("bold")
    line = Text.assemble(name, " is ", state_text(workflow.state))
    if workflow.requested:
        line.append(f", {workflow.requested} requested")
    return line


def type_words(workflow: WorkflowHandle[Any]) -> str:
    """Name what a workflow is a run of: its class, or its template if it has no class."""
    return workflow.type or workflow.template or "dynamic"
