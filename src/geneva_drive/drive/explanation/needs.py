"""Who or what acts next on a workflow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import assert_never

from geneva_drive.engine.transitions.wait_kinds import (
    ApprovalWait,
    ChildWait,
    EventWait,
    MomentWait,
    wait_of,
)
from geneva_drive.states import ENDED_WORKFLOW_STATES, Need, StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord


def who_is_needed(
    workflow: WorkflowRecord, active: Sequence[ExecutionRecord], now: datetime
) -> Need:
    """Return the need of a workflow; if its nodes differ, the first in the order of `Need`."""
    if workflow.state in ENDED_WORKFLOW_STATES:
        return Need.NONE
    if workflow.state is WorkflowState.PAUSED:
        return Need.OPERATOR
    needs = {_need_of(one, now) for one in active}
    # A workflow without an active execution is an orphan, which a worker adopts.
    return next((need for need in Need if need in needs), Need.WORKER)


def _need_of(execution: ExecutionRecord, now: datetime) -> Need:
    if execution.state is not StepState.WAITING:
        is_later = execution.state is not StepState.IN_PROGRESS and execution.scheduled_for > now
        return Need.TIMER if is_later else Need.WORKER
    wait = wait_of(execution)
    match wait:
        case ApprovalWait():
            return Need.PERSON
        case EventWait():
            return Need.EVENT
        case ChildWait() | None:
            return Need.CHILD
        case MomentWait():
            return Need.TIMER
        case _:
            assert_never(wait)


def resting_reason(execution: ExecutionRecord) -> str | None:
    """Return the `paused_reason` of a workflow that only waits."""
    wait = wait_of(execution)
    match wait:
        case ApprovalWait():
            return "approval_required"
        case EventWait():
            return "waiting_for_event"
        case ChildWait() | MomentWait() | None:
            return None
        case _:
            assert_never(wait)
