"""Changes: what a decision writes, as plain data that `commit/writer.py` turns into rows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import ErrorDetails
from geneva_drive.engine.transitions.wait_kinds import Wait
from geneva_drive.states import (
    DeadLetterReason,
    Interruption,
    Outcome,
    Request,
    ResumeTrigger,
    StepState,
    WorkflowState,
)
from geneva_drive.storage.schema.expansion_record import ExpansionRecord
from geneva_drive.storage.schema.records import (
    CHAIN_SLOT,
    ExecutionRecord,
    GraphNodeRecord,
    Key,
    WorkflowRecord,
)
from geneva_drive.value_class import value


@value
class ExecutionMove:
    """A new state for an execution as it was read under the lock."""

    record: ExecutionRecord
    state: StepState
    outcome: Outcome | None = None
    error: ErrorDetails | None = None
    result: str | None = None
    wakes_at: datetime | None = None  # when it becomes claimable
    scheduled_for: datetime | None = None  # None keeps the time that it has
    claimable: bool = False
    limit_key: str | None = None  # the limit whose slot it waits for
    stop: Request | None = None
    resets_counts: bool = False  # clear the counts of failures and recoveries
    interrupted_by: Interruption | None = None
    position: LoopPosition | None = None  # None leaves it where it was
    chosen: tuple[str, ...] | None = None  # the branches that a decision chose
    wait: Wait | None = None  # the wait that begins
    metadata: str | None = None  # of a document's step; None leaves it as it is


@value
class NewExecution:
    """An execution to insert."""

    step_name: str
    node_id: str  # in a chain the step's name
    signature: str
    queue: str
    priority: int
    scheduled_for: datetime
    failures: str | None = None
    recoveries: int = 0
    state: StepState = StepState.SCHEDULED
    outcome: Outcome | None = None
    stop: Request | None = None
    is_limited: bool = False  # it needs a slot of its step's limit before it runs
    position: LoopPosition | None = None  # where its loop continues
    share: str | None = None  # which partition it is, as JSON; see `partitions.py`
    slot: str = CHAIN_SLOT
    ancestry_hash: str | None = None
    attempt: int | None = None  # None to count earlier attempts when it is written
    child_id: Key | None = None  # the child of an earlier attempt, which has ended
    stored: GraphNodeRecord | None = None  # its stored node, if already read
    result: str | None = None  # given by the operator who completed the step
    lane: str | None = None  # None if it is the workflow's type


@value
class WorkflowMove:
    """The workflow's row afterwards; None is written as NULL."""

    state: WorkflowState
    next_step_name: str | None
    previous_step_name: str | None
    requested: Request | None = None
    requested_reason: str | None = None
    paused_reason: str | None = None
    paused_step_name: str | None = None
    result: str | None = None  # of a document's workflow; None leaves it as it is
    result_reason: str | None = None


@value
class AuditEntry:
    command: str
    actor: str | None
    reason: str | None
    approval_id: Key | None = None  # the request that it is about


@value
class ResumeRequest:
    """What makes a paused workflow continue."""

    trigger: ResumeTrigger
    trigger_id: str | None  # the approval, event or actor
    actor: str | None
    data: str | None
    is_executed: bool  # False while an operator holds the workflow


@value
class ExpansionChange:
    """A batch or map that was expanded or has ended."""

    record: ExpansionRecord
    is_over: bool
    execution_id: Key | None = None  # the one that expanded or ended it; None for a command


@value
class Change:
    """Everything that one decision writes about one workflow."""

    record: WorkflowRecord
    workflow: WorkflowMove
    executions: tuple[ExecutionMove, ...] = ()
    schedule: tuple[NewExecution, ...] = ()
    dead_letter: DeadLetterReason | None = None
    audit: AuditEntry | None = None
    resume: ResumeRequest | None = None
    context: str | None = None  # the workflow's new context; None leaves it as it is
    drops_pending: Outcome | None = None  # cancel the pending batch workers, with this outcome
    expansions: tuple[ExpansionChange, ...] = ()  # for telemetry; `engine/graphs` writes the rows
    freezes_graph: bool = False  # from now on the stored graph replaces that of the class


def unchanged(record: WorkflowRecord, **values: Any) -> WorkflowMove:
    """Return a move that leaves the workflow's row as it is, except for `values`."""
    fields: dict[str, Any] = {
        "state": record.state,
        "next_step_name": record.next_step_name,
        "previous_step_name": record.previous_step_name,
        "requested": record.requested,
        "requested_reason": record.requested_reason,
        "paused_reason": record.paused_reason,
        "paused_step_name": record.paused_step_name,
    }
    return WorkflowMove(**(fields | values))
