"""Decide what follows from the outcome of an execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from geneva_drive.definition.definition import Definition
from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.transitions.change import Change, ExecutionMove, WorkflowMove
from geneva_drive.engine.transitions.ended_execution import EndedExecution
from geneva_drive.engine.transitions.holds import (
    cancel_moves,
    cancel_planned,
    hold_change,
    stop_executions,
)
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import (
    AfterDecision,
    Awaiting,
    Canceled,
    Decided,
    Divided,
    ErrorDetails,
    Expanded,
    Finished,
    HandedOver,
    Lost,
    Parked,
    Paused,
    Raised,
    Reattempted,
    Returned,
    Routed,
    Skipped,
    StepOutcome,
    Suspended,
    apply_retry_limit,
    ordinal,
    recorded_outcome,
)
from geneva_drive.engine.transitions.partitions import settle_partition
from geneva_drive.states import DeadLetterReason, Outcome, Request, StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord


def is_in_graph(
    workflow: WorkflowRecord, execution: ExecutionRecord, definition: Definition | None
) -> bool:
    """True if other nodes may be active beside the execution; `engine/graphs` decides its end."""
    if workflow.has_graph or (definition is not None and definition.is_graph):
        return True
    return execution.is_graph_node


def decide(
    definition: Definition | None,
    workflow: WorkflowRecord,
    execution: ExecutionRecord,
    outcome: StepOutcome,
    now: datetime,
    position: LoopPosition | None = None,
    siblings: Sequence[ExecutionRecord] = (),
) -> Change:
    """Return what to write after `execution` of a chain ended in `outcome`.

    `definition` may be None only for a lost or handed-over execution, which a worker can recover
    without having the class. `position` is how far the loop of a resumable step has come, and
    `siblings` are the latest attempts at the other partitions of its step.
    """
    ended = EndedExecution(definition, workflow, execution, now, position)
    change = _change_for(ended, outcome)
    if not execution.is_partition:
        return honour_request(change)
    change = honour_request(settle_partition(change, outcome, siblings))
    if change.workflow.state is WorkflowState.CANCELED and workflow.requested is Request.CANCEL:
        own = [move for move in change.executions if move.record.id == execution.id]
        others = stop_executions(siblings, Outcome.CANCELED_BY_OPERATOR)
        return replace(change, executions=(*own, *others))
    return change


def decide_alone(
    definition: Definition | None,
    workflow: WorkflowRecord,
    execution: ExecutionRecord,
    outcome: StepOutcome,
    now: datetime,
    position: LoopPosition | None = None,
) -> Change:
    """Return what to write after a graph's node ended, as if no other node were active.

    The successors of a done node are not planned here: they depend on the other nodes, and
    `engine/graphs` plans them.
    """
    ended = EndedExecution(definition, workflow, execution, now, position, in_graph=True)
    return _change_for(ended, outcome)


def _change_for(ended: EndedExecution, outcome: StepOutcome) -> Change:
    match outcome:
        case Returned() | Routed() | Skipped() | Decided() | Expanded():
            return _pass(ended, outcome)
        case Finished(error, result):
            end = ended.end(StepState.COMPLETED, Outcome.SUCCESS, error=error, result=result)
            return ended.close(end, WorkflowState.FINISHED, is_passed=True)
        case Reattempted(wait, error, rewind):
            end = ended.end(StepState.COMPLETED, Outcome.REATTEMPTED, error=error)
            return ended.repeat(end, wait, rewind=rewind)
        case Canceled(cause, error):
            end = ended.end(StepState.CANCELED, cause, error=error)
            return ended.close(end, WorkflowState.CANCELED)
        case Paused(reason, error):
            end = ended.end(StepState.CANCELED, Outcome.PAUSED_BY_FLOW_CONTROL, error=error)
            return ended.pause(end, reason or "paused by its step")
        case Raised():
            return _fail(ended, outcome)
        case Lost():
            return _recover(ended, outcome)
        case HandedOver() | Parked() | Suspended() | Divided() | Awaiting():
            return _stay(ended, outcome)
        case _:
            assert_never(outcome)


def _pass(
    ended: EndedExecution, outcome: Returned | Routed | Skipped | Decided | Expanded
) -> Change:
    """Return the change after a node that needs no further attempt."""
    match outcome:
        case Returned(result):
            return ended.advance(ended.end(StepState.COMPLETED, Outcome.SUCCESS, result=result))
        case Skipped(cause, error):
            return ended.advance(ended.end(StepState.SKIPPED, cause, error=error))
        case Routed():
            return ended.follow_route(outcome)
        case Decided():
            return _after_wait(ended, outcome)
        case Expanded():  # `engine/graphs` plans its workers
            return ended.advance(ended.end(StepState.COMPLETED, Outcome.SUCCESS))
        case _:
            assert_never(outcome)


def _after_wait(ended: EndedExecution, decided: Decided) -> Change:
    match decided.then:
        case AfterDecision.CONTINUE:
            return ended.advance(_end_wait(ended, StepState.COMPLETED, decided))
        case AfterDecision.CANCEL:
            end = _end_wait(ended, StepState.COMPLETED, decided)
            return ended.close(end, WorkflowState.CANCELED)
        case AfterDecision.PAUSE:
            end = _end_wait(ended, StepState.FAILED, decided)
            return ended.pause(end, decided.outcome)
        case _:
            assert_never(decided.then)


def _end_wait(ended: EndedExecution, state: StepState, decided: Decided) -> ExecutionMove:
    return ended.end(state, decided.outcome, result=decided.result)


def _stay(
    ended: EndedExecution, outcome: HandedOver | Parked | Suspended | Divided | Awaiting
) -> Change:
    """Return the change after an outcome that leaves the workflow at the same step."""
    match outcome:
        case HandedOver(until):
            return ended.put_back(until)
        case Parked(limit_key):
            return ended.put_back(None, limit_key)
        case Suspended(by, wait):
            return ended.suspend(by, wait)
        case Divided(after, borders):
            return ended.divide([after, *borders, None])
        case Awaiting():
            return ended.wait_for(outcome)
        case _:
            assert_never(outcome)


def _fail(ended: EndedExecution, raised: Raised) -> Change:
    action, ran_out = apply_retry_limit(raised, ended.execution)
    outcome = recorded_outcome(raised, ended.execution)
    state = StepState.SKIPPED if action is ExceptionAction.SKIP else StepState.FAILED
    end = ended.end(state, outcome, error=raised.error)
    change = _after_failure(ended, end, action, raised)
    if ran_out:
        return replace(change, dead_letter=DeadLetterReason.MAX_RETRIES_EXCEEDED)
    return replace(change, dead_letter=raised.dead_letter)


def _after_failure(
    ended: EndedExecution, end: ExecutionMove, action: ExceptionAction, raised: Raised
) -> Change:
    match action:
        case ExceptionAction.SKIP:
            return ended.advance(end)
        case ExceptionAction.CANCEL:
            return ended.close(end, WorkflowState.CANCELED)
        case ExceptionAction.PAUSE:
            return ended.pause(end, f"{raised.error.error_class}: {raised.error.message}")
        case ExceptionAction.REATTEMPT:
            failures = ended.failures_after(raised.reaction.policy)
            return ended.repeat(end, raised.reaction.wait, failures=failures)
        case _:
            assert_never(action)


def _recover(ended: EndedExecution, lost: Lost) -> Change:
    execution = ended.execution
    error = ErrorDetails(
        error_class="geneva_drive.errors.ClaimLost", message=lost.why, backtrace=""
    )
    end = ended.end(StepState.FAILED, Outcome.RECOVERED, error=error)
    if lost.limit is not None and execution.recoveries >= lost.limit:
        change = ended.pause(end, f"{lost.why} (for the {ordinal(lost.limit + 1)} time)")
        return replace(change, dead_letter=DeadLetterReason.WORKER_UNAVAILABLE)
    counted = 0 if lost.limit is None else 1
    change = ended.repeat(
        end,
        timedelta(0),
        failures=ended.failures_after(lost.counts_as),
        recoveries=execution.recoveries + counted,
        rewind=lost.rewind,
    )
    # The child of this attempt has ended. The next attempt reports that child, and starts no other.
    following = replace(change.schedule[0], child_id=execution.child_id)
    if lost.resets_counts:
        following = replace(following, failures=None, recoveries=0)
    return replace(change, schedule=(following,))


def honour_request(change: Change) -> Change:
    """Return the change with the pause or cancel that was requested while the step ran.

    The commands `pause` and `cancel` store the request; see `engine/commands`.
    """
    requested = change.record.requested
    moved = change.workflow
    if requested is None or moved.state in (WorkflowState.FINISHED, WorkflowState.CANCELED):
        return change
    if requested is Request.CANCEL:
        return _cancel_on_request(change)
    if moved.state is WorkflowState.PAUSED:
        return change
    return _pause_on_request(change)


def _pause_on_request(change: Change) -> Change:
    paused = replace(
        change.workflow,
        state=WorkflowState.PAUSED,
        requested=None,
        requested_reason=None,
        paused_reason=change.record.requested_reason,
        paused_step_name=change.workflow.next_step_name,
    )
    return hold_change(change, paused)


def _cancel_on_request(change: Change) -> Change:
    return replace(
        change,
        workflow=WorkflowMove(
            state=WorkflowState.CANCELED,
            next_step_name=None,
            previous_step_name=change.workflow.previous_step_name,
        ),
        executions=cancel_moves(change.executions, Outcome.CANCELED_BY_OPERATOR),
        schedule=cancel_planned(change.schedule),
    )
