"""What several ends of one graph's nodes come to, taken together: pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.definition import Definition
from geneva_drive.engine.transitions.change import (
    Change,
    ExecutionMove,
    NewExecution,
    WorkflowMove,
    as_it_is,
)
from geneva_drive.engine.transitions.change import ending_by_operator as ending
from geneva_drive.engine.transitions.decide import alone
from geneva_drive.engine.transitions.loop_state import Position
from geneva_drive.engine.transitions.outcome import Returned, StepOutcome
from geneva_drive.engine.transitions.partitions import close, hold, together
from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    DeadLetterReason,
    Outcome,
    Request,
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

_GOES_ON = (StepState.SCHEDULED, StepState.SUSPENDED, StepState.WAITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEnd:
    """An execution of a graph's node that ended under its claim."""

    definition: Definition | None
    execution: ExecutionRecord
    outcome: StepOutcome
    position: Position | None = None
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
class Tally:
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
class Growth:
    """What nodes that are done let run, or pass over."""

    schedule: tuple[NewExecution, ...] = ()
    is_over: bool = False  # every node is done


def tally(
    workflow: WorkflowRecord,
    ends: Iterable[NodeEnd],
    now: datetime,
    shares: Sequence[ExecutionRecord] = (),
) -> Tally:
    """Add up what each end says for itself, in turn; `shares` are those of divided steps."""
    found = Tally(workflow)
    for end in ends:
        _add(found, end, now, shares)
    return found


def _add(found: Tally, end: NodeEnd, now: datetime, shares: Sequence[ExecutionRecord]) -> None:
    workflow, execution = found.workflow, end.execution
    change = alone(end.definition, workflow, execution, end.outcome, now, end.position)
    [move] = change.executions
    if isinstance(end.outcome, Returned) and end.outcome.chosen is not None:
        move = replace(move, chosen=end.outcome.chosen)
    is_over = workflow.state in ENDED_WORKFLOW_STATES or found.closing is not None
    if is_over:
        # It is let end, and recorded; nothing follows.
        [move] = _ended([move], Outcome.CANCELED_BY_FLOW_CONTROL)
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
                _add_done(found, end, move, shares)


def _named(
    workflow: WorkflowRecord, planned: Sequence[NewExecution], stored: GraphNodeRecord | None
) -> Sequence[NewExecution]:
    """Give further attempts the name that their node has; an import may have changed it."""
    if stored is None or workflow.type != DYNAMIC_TYPE:
        return planned
    return [replace(new, step_name=stored.name) for new in planned]


def _add_done(
    found: Tally, end: NodeEnd, move: ExecutionMove, shares: Sequence[ExecutionRecord]
) -> None:
    if not all(_is_done(found, share) for share in together(end.execution, shares)):
        return
    found.last_step_name = end.execution.step_name
    found.done.append(Done(end.execution, move.outcome, move.state, move.chosen))


def _is_done(found: Tally, share: ExecutionRecord) -> bool:
    moved = found.moves.get(share.id)
    return is_done(moved.state, moved.outcome) if moved else is_done(share.state, share.outcome)


def conclude(found: Tally, growth: Growth, beside: Sequence[ExecutionRecord]) -> Change:
    """Say what is to be written; `beside` is what else is active, where that matters."""
    workflow = found.workflow
    if workflow.state in ENDED_WORKFLOW_STATES:
        return _change(found, as_it_is(workflow))
    if found.closing is not None:
        return _close(found, found.closing, beside)
    if growth.is_over:
        return _finish(found, growth, beside)
    if found.is_plain:
        return _change(
            found,
            _moved(found, WorkflowState.READY),
            schedule=(*found.planned, *growth.schedule),
        )
    return _stop(found, growth, beside, found.hold)


def _finish(found: Tally, growth: Growth, beside: Sequence[ExecutionRecord]) -> Change:
    """Finish the workflow: what is still scheduled stands at the places of removed nodes."""
    removed = tuple(
        ExecutionMove(record=one, state=StepState.SKIPPED, outcome=Outcome.SKIPPED_BY_REMOVAL)
        for one in beside
        if one.state in _GOES_ON
    )
    moves = (*found.moves.values(), *removed)
    finished = _moved(found, WorkflowState.FINISHED)
    return _change(found, finished, moves=moves, schedule=growth.schedule)


def _close(found: Tally, closing: Closing, beside: Sequence[ExecutionRecord]) -> Change:
    """Cancel what waits beside it, and let what runs end."""
    is_finish = closing.outcome is Outcome.SUCCESS
    by = Outcome.CANCELED_BY_FLOW_CONTROL if is_finish else closing.outcome
    own = _ended(found.moves.values(), by)
    previous = closing.step_name if is_finish else found.workflow.previous_step_name
    moved = WorkflowMove(state=closing.state, next_step_name=None, previous_step_name=previous)
    return _change(found, moved, moves=(*own, *close(beside, by)))


def _ended(moves: Iterable[ExecutionMove], by: Outcome | None) -> tuple[ExecutionMove, ...]:
    return tuple(
        replace(end, outcome=by) if end is not move else move
        for move, end in ((move, ending([move])[0]) for move in moves)
    )


def _stop(
    found: Tally, growth: Growth, beside: Sequence[ExecutionRecord], hold_by: Hold | None
) -> Change:
    """Hold or cancel the workflow once what runs has ended; nothing new starts until then."""
    workflow = found.workflow
    request = workflow.requested or Request.PAUSE
    reason = workflow.requested_reason if workflow.requested else None
    step_name = workflow.paused_step_name
    if hold_by is not None and reason is None:
        reason, step_name = hold_by.reason, step_name or hold_by.step_name
    runs = any(record.state is StepState.IN_PROGRESS for record in beside)
    schedule = (*found.planned, *growth.schedule)
    if request is Request.CANCEL and not runs:
        return _cancel(found, schedule, beside)
    moves = tuple(_held(move, request) for move in found.moves.values())
    moved = _moved(found, WorkflowState.READY if runs else WorkflowState.PAUSED)
    if workflow.state is WorkflowState.PAUSED:
        moved = replace(as_it_is(workflow), previous_step_name=moved.previous_step_name)
    elif runs:
        moved = replace(
            moved, requested=request, requested_reason=reason, paused_step_name=step_name
        )
    else:
        named = step_name or _first_name(schedule, beside)
        moved = replace(moved, paused_reason=reason, paused_step_name=named)
    return _change(
        found,
        moved,
        moves=(*moves, *hold([one for one in beside if one.stop is not request], request)),
        schedule=tuple(_held_back(new, request) for new in schedule),
    )


def _cancel(
    found: Tally, schedule: Sequence[NewExecution], beside: Sequence[ExecutionRecord]
) -> Change:
    by = Outcome.CANCELED_BY_OPERATOR
    canceled = tuple(
        replace(new, state=StepState.CANCELED, outcome=by)
        if new.state is StepState.SCHEDULED
        else new
        for new in schedule
    )
    return _change(
        found,
        _moved(found, WorkflowState.CANCELED),
        moves=(*_ended(found.moves.values(), by), *close(beside, by)),
        schedule=canceled,
    )


def _held(move: ExecutionMove, request: Request) -> ExecutionMove:
    if move.state not in _GOES_ON:
        return move
    return replace(move, claimable=False, wakes_at=None, limit_key=None, stop=request)


def _held_back(new: NewExecution, request: Request) -> NewExecution:
    return replace(new, stop=request) if new.state is StepState.SCHEDULED else new


def _first_name(schedule: Sequence[NewExecution], beside: Sequence[ExecutionRecord]) -> str | None:
    named = (*(record.step_name for record in beside), *(new.step_name for new in schedule))
    return next(iter(named), None)


def _moved(found: Tally, state: WorkflowState) -> WorkflowMove:
    """Plan the workflow's row; of a graph it does not say which node is next: several may be."""
    previous = found.last_step_name or found.workflow.previous_step_name
    return WorkflowMove(state=state, next_step_name=None, previous_step_name=previous)


def _change(
    found: Tally,
    moved: WorkflowMove,
    *,
    moves: Sequence[ExecutionMove] | None = None,
    schedule: Sequence[NewExecution] = (),
) -> Change:
    return Change(
        record=found.workflow,
        workflow=moved,
        executions=tuple(found.moves.values() if moves is None else moves),
        schedule=tuple(schedule),
        dead_letter=found.dead_letter,
    )
