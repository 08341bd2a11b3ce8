"""Claims as a worker holds them, for what needs no database."""

from __future__ import annotations

from typing import Any

from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.states import StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from tests.storage.rows import NOW


def make_claimed(workflow_id: int = 1, execution_id: int = 1, type_name: str = "T") -> Claimed:
    common: dict[str, Any] = {"type": type_name, "created_at": NOW}
    workflow = WorkflowRecord(id=workflow_id, state=WorkflowState.READY, updated_at=NOW, **common)
    execution = ExecutionRecord(
        id=execution_id,
        workflow_id=workflow_id,
        signature="s",
        step_name="step",
        node_id="step",
        slot="chain",
        attempt_number=1,
        state=StepState.IN_PROGRESS,
        queue="default",
        priority=0,
        claimable=False,
        scheduled_for=NOW,
        **common,
    )
    return Claimed(workflow=workflow, execution=execution, claim_token="t")
