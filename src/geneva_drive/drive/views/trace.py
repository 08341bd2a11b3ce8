"""The trace of a workflow: every attempt, the requests for approval, and what made it continue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.step_execution import Checkpoint
from geneva_drive.drive.views.execution_bodies import (
    approval_body,
    execution_body,
    loop_body,
    resume_request_body,
    step_body,
)
from geneva_drive.engine.commit.rows import CHECKPOINT, YIELD
from geneva_drive.storage.schema.records import Key

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive


def trace_body(drive: Drive, workflow: WorkflowHandle[Any]) -> dict[str, Any]:
    kept = kept_of(drive, workflow)
    steps, masked = workflow.step_executions, drive.settings.masked_fields
    return {
        "execution": execution_body(workflow),
        "steps": [{**step_body(one), **loop_body(kept.get(one.id, ()))} for one in steps],
        "approvals": [approval_body(one) for one in drive.approvals.of_workflow(workflow.id)],
        "resume_requests": [resume_request_body(one, masked) for one in workflow.resume_requests],
    }


def kept_of(drive: Drive, workflow: WorkflowHandle[Any]) -> dict[Key, list[Checkpoint]]:
    """Read the interruptions and skipped items of all loops, without other checkpoints."""
    store = drive.store
    found = store.read(
        lambda c: store.checkpoints.of_workflow(c, workflow.id, besides=(YIELD, CHECKPOINT))
    )
    return {key: [Checkpoint(record) for record in records] for key, records in found.items()}
