"""What several ends of one graph's nodes come to, taken together: pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.definition import Definition
from geneva_drive.engine.transitions.change import ExecutionMove, NewExecution
from geneva_drive.engine.transitions.decide import decide_alone
from geneva_drive.engine.transitions.holds import cancel_moves
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import Returned, StepOutcome
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
    stored: GraphNodeRecord | None = None  # its node, where the graph is stored


@dataclass(frozen=True, slots=True)
class Done:
    """A node of which no further attempt is needed."""

    execution: ExecutionRecord
    outcome: Outcome | None
    state: StepState
    chosen: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a workflow is to be held, and the node that wants it."""

    reason: str | None
    step_name: str | None


@dataclass(frozen=True, slots=True)
class Closing:
    """How a node ended its whole workflow."""

    state: WorkflowState
    outcome: Outcome | None
    step_name: str


@dataclass(slots=True)
class Summary:
    """What the ends of nodes come to before it is known what they let run."""

    workflow: WorkflowRecord
    moves: dict[Key, ExecutionMove] = field(default_factory=dict)
    planned: list[NewExecution] = field(default_factory=list)  # further attempts, and shares
    done: list[Done] = field(default_factory=list)
    closing: Closing | None = None
    hold: Hold | None = None
    dead_letter: DeadLetterReason | None = None
    last_step_name: str | None = None

    @property
    def done_count(self) -> int:
        """Count the executions that ended with their nodes done."""
        return sum(is_done(move.state, move.outcome) for move in self.moves.values())

    @property
    def is_plain(self) -> bool:
        """Say whether nothing is to be known of the nodes beside it."""
        workflow = self.workflow
        is_free = workflow.state is WorkflowState.READY and workflow.requested is None
        return is_free and self.closing is None and self.hold is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Successors:
    """What nodes that are done let run, or pass over."""

    schedule: tuple[NewExecution, ...] = ()
    is_over: bool = False  # every node is done


def summarize(
    workflow: WorkflowRecord,
    ends: Iterable[NodeEnd],
    now: datetime,
    partitions: Sequence[ExecutionRecord] = (),
) -> Summary:
    """Add up what each end says for itself, in turn; `shares` are those of divided steps."""
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
    if isinstance(end.outcome, Returned) and end.outcome.chosen is not None:
        move = replace(move, chosen=end.outcome.chosen)
    is_over = workflow.state in ENDED_WORKFLOW_STATES or found.closing is not None
    if is_over:
        # It is let end, and recorded; nothing follows.
        [move] = cancel_moves([move], Outcome.CANCELED_BY_FLOW_CONTROL)
    found.moves[execution.id] = move
    if is_over:
        return
    found.dead_letter = found.dead_letter or change.dead_letter
    match change.workflow.state:
        case WorkflowState.FINISHED | WorkflowState.CANCELED as state:
            found.closing = Closing(state, move.outcome, execution.step_name)
        case WorkflowState.PAUSED:
            found.hold = found.hold or Hold(change.workflow.paused_reason, execution.step_name)
        case _:
            found.planned += _named(workflow, change.schedule, end.stored)
            if is_done(move.state, move.outcome) and not change.schedule:
                _add_done(found, end, move, partitions)


def _named(
    workflow: WorkflowRecord, planned: Sequence[NewExecution], stored: GraphNodeRecord | None
) -> Sequence[NewExecution]:
    """Give further attempts the name that their node has; an import may have changed it."""
    if stored is None or workflow.type != DYNAMIC_TYPE:
        return planned
    return [replace(new, step_name=stored.name) for new in planned]


def _add_done(
    found: Summary, end: NodeEnd, move: ExecutionMove, partitions: Sequence[ExecutionRecord]
) -> None:
    if not all(
        _is_done(found, partition) for partition in sibling_partitions(end.execution, partitions)
    ):
        return
    found.last_step_name = end.execution.step_name
    found.done.append(Done(end.execution, move.outcome, move.state, move.chosen))


def _is_done(found: Summary, partition: ExecutionRecord) -> bool:
    moved = found.moves.get(partition.id)
    return (
        is_done(moved.state, moved.outcome)
        if moved
        else is_done(partition.state, partition.outcome)
    )
