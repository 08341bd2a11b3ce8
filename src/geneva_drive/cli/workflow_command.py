"""The options and the output that commands on one workflow share, such as `pause`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import make_console, plain, print_json
from geneva_drive.cli.output.headline import headline
from geneva_drive.cli.parameters import audit_options, json_option
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.views.execution_bodies import execution_body


def workflow_command(function: Callable[..., str | None]) -> Callable[..., None]:
    """Add the common options, pass the workflow instead of its id, and print it afterwards.

    The function gets `reason` and `actor` for the audit entry, and may return a sentence to print.
    """

    @functools.wraps(function)
    def act(drive: Drive, /, workflow_id: str, as_json: bool, **options: Any) -> None:
        workflow = drive.workflows(Workflow).find(workflow_id)
        outcome = function(workflow, **options)
        print_workflow(workflow, outcome, as_json=as_json)

    return audit_options(json_option(with_drive(act)))


def print_workflow(
    workflow: WorkflowHandle[Any], outcome: str | None = None, *, as_json: bool
) -> None:
    """Print a workflow that was just changed or started."""
    if as_json:
        print_json(execution_body(workflow))
        return
    console = make_console()
    console.print(headline(workflow))
    if outcome is not None:
        console.print(plain(outcome))
    console.print(plain(workflow.why()))
