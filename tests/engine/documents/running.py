"""Deploy a document and run it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import drain, time_travel
from tests.declarative.documents import written

Handle = gd.WorkflowHandle[Any]


def deploy(drive: gd.Drive, *steps: dict[str, Any], **top: Any) -> None:
    drive.definitions.deploy(written(*steps, **top))


def run(drive: gd.Drive, *steps: dict[str, Any], context: Any = None, **top: Any) -> Handle:
    """Deploy these steps, start a workflow and run what is due."""
    deploy(drive, *steps, **top)
    workflow = drive.start(top.get("workflow_id", "order"), context=context)
    drain(drive)
    return workflow.reload()


def steps_of(workflow: Handle) -> list[str]:
    return [one.step_name for one in workflow.step_executions]


def ended(workflow: Handle) -> tuple[str, Any, str | None]:
    """Its state, result and reason."""
    workflow.reload()
    return workflow.state, workflow.result, workflow.result_reason


def later(drive: gd.Drive, span: timedelta) -> None:
    """Do what is due after a span of time."""
    with time_travel(span, drive):
        drive.housekeep()
        drain(drive)
