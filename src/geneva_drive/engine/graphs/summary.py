"""Combine the ends of several nodes into one summary for their workflow. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.definition import Definition
from geneva_drive.engine.transitions.batch_workers import BatchWorker
from geneva_drive.engine.transitions.change import (
    Change,
    ExecutionMove,
    ExpansionChange,
    NewExecution,
)
from geneva_drive.engine.transitions.decide import decide_alone
from geneva_drive.engine.transitions.holds import cancel_moves
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import Decided, Expanded, Returned, StepOutcome
from geneva_drive.engine.transitions.partitions import sibling_partitions
from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    DeadLetterReason,
    Outcome,
    StepState,
    WorkflowState,
    is_done,
)
from geneva_drive.storage.schema.records import (
    ExecutionRecord,
    GraphNodeRecord,
    Key,
    WorkflowRecord,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEnd:
    """An execution of a graph's node that ended under its claim."""

    definition: Definition | None
    execution: ExecutionRecord
    outcome: StepOutcome
    position: LoopPosition | None = None
    stored: GraphNodeRecord | None = None  # its node, if the graph is stored


@dataclass(frozen=True, slots=True)
class Hold:
    """The reason for a pause, and the node that caused it."""

    reason: str | None
    step_name: str | None


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of the whole workflow, which a node caused."""

    state: WorkflowState
    outcome: Outcome | None
    step_name: str


@dataclass(slots=True)
class WorkerEnds:
    """The ends of workers of one batch or map."""

    done: list[ExecutionMove] = field(default_factory=list)
    failed: list[tuple[ExecutionMove, Hold]] = field(default_factory=list)  # for good
    dead_letter: DeadLetterReason | None = None


@dataclass(slots=True)
class Summary:
    """The combined effect of ended nodes, before their successors are known."""

    workflow: WorkflowRecord
    moves: dict[Key, ExecutionMove] = field(default_factory=dict)
    planned: list[NewExecution] = field(default_factory=list)  # further attempts and partitions
    done: list[ExecutionMove] = field(default_factory=list)  # the moves that end their nodes
    workers: dict[str, WorkerEnds] = field(default_factory=dict)  # by the node of the expansion
    expanded: list[tuple[NodeEnd, ExecutionMove]] = field(default_factory=list)
    expansions: list[ExpansionChange] = field(default_factory=list)
    closing: Closing | None = None
    hold: Hold | None = None
    dead_letter: DeadLetterReason | None = None
    last_step_name: str | None = None

    @property
    def done_count(self) -> int:
        return sum(
            is_done(move.state, move.outcome) and not move.record.is_worker
            for move in self.moves.values()
        )

    @property
    def is_plain(self) -> bool:
        """True if the change does not depend on the other active nodes."""
        workflow = self.workflow
        is_free = workflow.state is WorkflowState.READY and workflow.requested is None
        return is_free and self.closing is None and self.hold is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Successors:
    """The executions to insert after done nodes: unlocked ones, and skipped branches."""

    schedule: tuple[NewExecution, ...] = ()
    is_over: bool = False  # every node is done


def summarize(
    workflow: WorkflowRecord,
    ends: Iterable[NodeEnd],
    now: datetime,
    partitions: Sequence[ExecutionRecord] = (),
) -> Summary:
    """Decide each end on its own; `partitions` are the latest attempts at partitioned steps."""
    found = Summary(workflow)
    for end in ends:
        _add(found, end, now, partitions)
    return found


def _add(
    found: Summary, end: NodeEnd, now: datetime, partitions: Sequence[ExecutionRecord]
) -> None:
    workflow, execution = found.workflow, end.execution
    change = decide_alone(end.definition, workflow, execution, end.outcome, now, end.position)
    [move] = change.executions
    if isinstance(end.outcome, Returned | Decided) and end.outcome.chosen is not None:
        move = replace(move, chosen=end.outcome.chosen)
    is_over = workflow.state in ENDED_WORKFLOW_STATES or found.closing is not None
    if is_over:
        # The end is recorded, but nothing follows it.
        [move] = cancel_moves([move], Outcome.CANCELED_BY_FLOW_CONTROL)
    found.moves[execution.id] = move
    if is_over:
        return
    if execution.is_worker and move.state is StepState.FAILED and not change.schedule:
        _add_failed_worker(found, end, move, change)
        return
    found.dead_letter = found.dead_letter or change.dead_letter
    match change.workflow.state:
        case WorkflowState.FINISHED | WorkflowState.CANCELED as state:
            found.closing = Closing(state, move.outcome, execution.step_name)
        case WorkflowState.PAUSED:
            found.hold = found.hold or Hold(change.workflow.paused_reason, execution.step_name)
        case WorkflowState.READY | WorkflowState.PERFORMING:
            found.planned += _named(workflow, change.schedule, end.stored)
            if is_done(move.state, move.outcome) and not change.schedule:
                _add_done(found, end, move, partitions)
        case other:
            assert_never(other)


def _add_failed_worker(found: Summary, end: NodeEnd, move: ExecutionMove, change: Change) -> None:
    """Add a worker that failed for good; its batch or map decides what follows."""
    if change.workflow.state is WorkflowState.CANCELED:
        found.closing = Closing(WorkflowState.CANCELED, move.outcome, end.execution.step_name)
        found.dead_letter = found.dead_letter or change.dead_letter
        return
    ends = _ends_beside(found, end.execution)
    ends.failed.append((move, Hold(change.workflow.paused_reason, end.execution.node_id)))
    ends.dead_letter = ends.dead_letter or change.dead_letter


def _ends_beside(found: Summary, execution: ExecutionRecord) -> WorkerEnds:
    return found.workers.setdefault(BatchWorker.of(execution).expansion, WorkerEnds())


def _named(
    workflow: WorkflowRecord, planned: Sequence[NewExecution], stored: GraphNodeRecord | None
) -> Sequence[NewExecution]:
    """Return the attempts with their node's current name; an import may have renamed the node."""
    if stored is None or workflow.type != DYNAMIC_TYPE:
        return planned
    return [replace(new, step_name=stored.name) for new in planned]


def _add_done(
    found: Summary, end: NodeEnd, move: ExecutionMove, partitions: Sequence[ExecutionRecord]
) -> None:
    if end.execution.is_worker:
        _ends_beside(found, end.execution).done.append(move)
        found.last_step_name = end.execution.step_name
        return
    if isinstance(end.outcome, Expanded):
        found.last_step_name = end.execution.step_name
        found.expanded.append((end, move))
        return
    siblings = sibling_partitions(end.execution, partitions)
    latest = [found.moves.get(one.id, one) for one in siblings]
    if all(is_done(one.state, one.outcome) for one in latest):
        found.last_step_name = end.execution.step_name
        found.done.append(move)
