"""What is to be written: the answer of a decision, before anything touches the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.engine.transitions.ancestry import ancestry_hash
from geneva_drive.engine.transitions.loop_state import Position
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
    position: Position | None = None  # where its loop stands now; None leaves it where it was
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
    position: Position | None = None  # where its loop goes on
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


_GOES_ON = (StepState.SCHEDULED, StepState.SUSPENDED, StepState.WAITING)


def as_it_is(record: WorkflowRecord) -> WorkflowMove:
    """Plan a workflow's row as it is."""
    return WorkflowMove(
        state=record.state,
        next_step_name=record.next_step_name,
        previous_step_name=record.previous_step_name,
        requested=record.requested,
        requested_reason=record.requested_reason,
        paused_reason=record.paused_reason,
        paused_step_name=record.paused_step_name,
    )


def holding(change: Change, workflow: WorkflowMove) -> Change:
    """Keep what would go on by a change out of every worker's reach."""
    return replace(
        change,
        workflow=workflow,
        executions=tuple(
            replace(move, claimable=False, wakes_at=None, limit_key=None, stop=Request.PAUSE)
            if move.state in _GOES_ON
            else move
            for move in change.executions
        ),
        schedule=tuple(replace(new, stop=Request.PAUSE) for new in change.schedule),
    )


def ending_by_operator(moves: Iterable[ExecutionMove]) -> tuple[ExecutionMove, ...]:
    """Cancel what would go on."""
    return tuple(
        replace(
            move,
            state=StepState.CANCELED,
            outcome=Outcome.CANCELED_BY_OPERATOR,
            claimable=False,
            wakes_at=None,
            limit_key=None,
        )
        if move.state in _GOES_ON
        else move
        for move in moves
    )


def scheduled(
    definition: Definition,
    record: WorkflowRecord,
    node: Node,
    at: datetime,
    parents: Iterable[str | None] = (),
) -> NewExecution:
    """Plan an execution of a node, with the job options that rule for it.

    `parents` are the ancestry hashes of what it depends on.
    """
    return NewExecution(
        step_name=node.name,
        signature=definition.signature,
        queue=record.queue or node.options.queue or definition.queue,
        priority=_priority(record, node, definition),
        scheduled_for=at,
        is_limited=node.options.limit is not None,
        slot=node.name if definition.is_graph else CHAIN_SLOT,
        ancestry_hash=ancestry_hash(node.name, parents),
    )


def again(record: ExecutionRecord, at: datetime, *, rewind: bool = False) -> NewExecution:
    """Plan a further attempt of the node that an execution stood on, from where its loop stood."""
    return NewExecution(
        step_name=record.step_name,
        signature=record.signature,
        queue=record.queue,
        priority=record.priority,
        scheduled_for=at,
        position=None if rewind else Position.of(record),
        share=record.share,
        node_id=record.node_id,
        slot=record.slot,
        ancestry_hash=record.ancestry_hash,
    )


def hold(record: ExecutionRecord) -> ExecutionMove:
    """Keep a scheduled execution where it is, out of every worker's reach."""
    return ExecutionMove(record=record, state=record.state, stop=Request.PAUSE)


def release(record: ExecutionRecord, now: datetime) -> ExecutionMove:
    """Let a held execution run at its time, or now if that has passed."""
    if record.state is StepState.WAITING:
        return ExecutionMove(record=record, state=record.state)
    is_due = record.scheduled_for <= now
    return ExecutionMove(
        record=record,
        state=record.state,
        claimable=is_due,
        wakes_at=None if is_due else record.scheduled_for,
        resets_counts=True,
    )


def _priority(record: WorkflowRecord, node: Node, definition: Definition) -> int:
    if record.priority is not None:
        return record.priority
    own = node.options.priority
    return definition.priority if own is None else own
