"""What is to be written: the answer of a decision, before anything touches the database."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import ErrorDetails
from geneva_drive.engine.transitions.wait import Wait
from geneva_drive.states import (
    DeadLetterReason,
    Interruption,
    Outcome,
    Request,
    StepState,
    WorkflowState,
)
from geneva_drive.storage.schema.records import (
    ExecutionRecord,
    GraphNodeRecord,
    Key,
    WorkflowRecord,
)
from geneva_drive.values import value

CHAIN_SLOT = "chain"


@value
class ExecutionMove:
    """A new state for an execution as it was read under the lock."""

    record: ExecutionRecord
    state: StepState
    outcome: Outcome | None = None
    error: ErrorDetails | None = None
    result: str | None = None
    wakes_at: datetime | None = None  # of an execution that goes back to sleep
    scheduled_for: datetime | None = None  # its new time; None leaves the one that it has
    claimable: bool = False
    limit_key: str | None = None  # the limit that it waits for
    stop: Request | None = None
    resets_counts: bool = False  # an operator's command forgives earlier failures
    interrupted_by: Interruption | None = None
    position: LoopPosition | None = None  # where its loop stands now; None leaves it where it was
    chosen: tuple[str, ...] | None = None  # the branches, by a decision
    wait: Wait | None = None  # what it waits for from now on


@value
class NewExecution:
    """An execution to be inserted; its attempt number is found when it is written."""

    step_name: str
    signature: str
    queue: str
    priority: int
    scheduled_for: datetime
    failures: str | None = None
    recoveries: int = 0
    state: StepState = StepState.SCHEDULED
    outcome: Outcome | None = None
    stop: Request | None = None
    is_limited: bool = False  # its step has a limit, whose slot it needs before it runs
    position: LoopPosition | None = None  # where its loop goes on
    share: str | None = None  # of the items of a step that is divided into partitions
    node_id: str | None = None  # the step's name, if it is neither divided nor of a stored graph
    slot: str = CHAIN_SLOT
    ancestry_hash: str | None = None
    attempt: int | None = None  # None if there may have been others
    child_id: Key | None = None  # the workflow that was started for it, and has ended
    stored: GraphNodeRecord | None = None  # its node, where that was read along

    @property
    def node(self) -> str:
        return self.node_id or self.step_name


@value
class WorkflowMove:
    """The workflow's row afterwards; a field of None is written as NULL."""

    state: WorkflowState
    next_step_name: str | None
    previous_step_name: str | None
    requested: Request | None = None
    requested_reason: str | None = None
    paused_reason: str | None = None
    paused_step_name: str | None = None


@value
class AuditEntry:
    command: str
    actor: str | None
    reason: str | None


@value
class Change:
    """All that one decision writes about one workflow."""

    record: WorkflowRecord
    workflow: WorkflowMove
    executions: tuple[ExecutionMove, ...] = ()
    schedule: tuple[NewExecution, ...] = ()
    dead_letter: DeadLetterReason | None = None
    audit: AuditEntry | None = None
    context: str | None = None  # the workflow's new context; None leaves it as it is
    freezes_graph: bool = False  # it is its own stored graph that rules from now on


def unchanged(record: WorkflowRecord, **values: Any) -> WorkflowMove:
    """Plan a workflow's row as it is, but for `values`."""
    move = WorkflowMove(
        state=record.state,
        next_step_name=record.next_step_name,
        previous_step_name=record.previous_step_name,
        requested=record.requested,
        requested_reason=record.requested_reason,
        paused_reason=record.paused_reason,
        paused_step_name=record.paused_step_name,
    )
    return replace(move, **values) if values else move
