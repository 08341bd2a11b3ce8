"""The first line that a command prints about a workflow."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from geneva_drive.cli.output.console import plain, state_text
from geneva_drive.drive.handle.handle import WorkflowHandle


def headline(workflow: WorkflowHandle[Any]) -> Text:
    name = plain(f"{workflow.type or workflow.template or 'dynamic'} {workflow.id}")
    name.stylize("bold")
    line = Text.assemble(name, " is ", state_text(workflow.state))
    if workflow.requested:
        line.append(f", {workflow.requested} requested")
    return line


def type_words(workflow: WorkflowHandle[Any]) -> str:
    """Return the type (of a document, with its version), or the template of a dynamic workflow."""
    if workflow.definition_version is not None:
        return f"{workflow.type} {workflow.definition_version}"
    return workflow.type or workflow.template or "dynamic"
