"""What a command says of the workflow that it was given to."""

from __future__ import annotations

from typing import Any

from geneva_drive.cli.output.bodies import execution_body
from geneva_drive.cli.output.console import make_console, plain, print_json
from geneva_drive.cli.output.headline import headline
from geneva_drive.drive.handle import WorkflowHandle


def answer(workflow: WorkflowHandle[Any], *, as_json: bool, outcome: str | None = None) -> None:
    """Print the workflow as the command left it."""
    if as_json:
        print_json(execution_body(workflow))
        return
    console = make_console()
    console.print(headline(workflow))
    if outcome is not None:
        console.print(plain(outcome))
    console.print(plain(workflow.why()))
