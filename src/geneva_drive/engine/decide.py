"""What follows from an outcome: pure, so that every rule can be tested in milliseconds."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from geneva_drive import serialization
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.policies import ExceptionAction
from geneva_drive.engine.change import Change, ExecutionMove, WorkflowMove, again, scheduled
from geneva_drive.engine.outcome import (
    Canceled,
    ErrorDetails,
    Finished,
    HandedOver,
    Lost,
    Parked,
    Paused,
    Raised,
    Reattempted,
    Returned,
    Skipped,
    StepOutcome,
)
from geneva_drive.states import (
    DeadLetterReason,
    Outcome,
    Request,
    StepState,
    WorkflowState,
)
from geneva_drive.storage.records import ExecutionRecord, WorkflowRecord

_BY_EXCEPTION = {
    ExceptionAction.PAUSE: Outcome.PAUSED_BY_EXCEPTION,
    ExceptionAction.CANCEL: Outcome.CANCELED_BY_EXCEPTION,
    ExceptionAction.SKIP: Outcome.SKIPPED_BY_EXCEPTION,
    ExceptionAction.REATTEMPT: Outcome.REATTEMPTED_BY_EXCEPTION,
}


def decide(
    definition: Definition | None,
    workflow: WorkflowRecord,
    execution: ExecutionRecord,
    outcome: StepOutcome,
    now: datetime,
) -> Change:
    """Say what is to be written when `execution` ended in `outcome`.

    The definition may be missing only for a lost or handed-over execution: whoever takes those
    back need not have the class.
    """
    case = _Case(definition, workflow, execution, now)
    return honour_request(case.change_for(outcome))


def ending_of(outcome: StepOutcome, execution: ExecutionRecord) -> Outcome | None:
    """Name how an execution that came to this will be recorded."""
    match outcome:
        case Returned() | Finished():
            return Outcome.SUCCESS
        case Skipped(cause=cause) | Canceled(cause=cause):
            return cause
        case Reattempted():
            return Outcome.REATTEMPTED
        case Paused():
            return Outcome.PAUSED_BY_FLOW_CONTROL
        case Raised(timed_out=timed_out):
            action, _ = _settle(outcome, execution)
            if timed_out and action is not ExceptionAction.SKIP:
                return Outcome.TIMED_OUT
            return _BY_EXCEPTION[action]
        case Lost():
            return Outcome.RECOVERED
        case HandedOver() | Parked():
            return None
        case _:
            assert_never(outcome)


def _settle(raised: Raised, execution: ExecutionRecord) -> tuple[ExceptionAction, bool]:
    """Apply the policy's own limit; the second answer says that it ran out."""
    reaction = raised.reaction
    if reaction.action is not ExceptionAction.REATTEMPT or reaction.limit is None:
        return reaction.action, False
    failures = execution.failure_counts.get(reaction.policy or "", 0)
    if failures < reaction.limit:
        return ExceptionAction.REATTEMPT, False
    return reaction.terminal_action, True


class _Case:
    """One execution that ended, and the changes that may come of it."""

    def __init__(
        self,
        definition: Definition | None,
        workflow: WorkflowRecord,
        execution: ExecutionRecord,
        now: datetime,
    ) -> None:
        self._given_definition = definition
        self.workflow = workflow
        self.execution = execution
        self.now = now

    @property
    def definition(self) -> Definition:
        assert self._given_definition is not None, "this outcome comes from running the class"
        return self._given_definition

    def change_for(self, outcome: StepOutcome) -> Change:
        match outcome:
            case Returned(result):
                return self._advance(self._end(StepState.COMPLETED, Outcome.SUCCESS, result=result))
            case Skipped(cause, error):
                return self._advance(self._end(StepState.SKIPPED, cause, error=error))
            case Finished(error):
                end = self._end(StepState.COMPLETED, Outcome.SUCCESS, error=error)
                return self._stop(end, WorkflowState.FINISHED, passed=True)
            case Reattempted(wait, error):
                end = self._end(StepState.COMPLETED, Outcome.REATTEMPTED, error=error)
                return self._repeat(end, wait, self.execution.failures, self.execution.recoveries)
            case Canceled(cause, error):
                end = self._end(StepState.CANCELED, cause, error=error)
                return self._stop(end, WorkflowState.CANCELED)
            case Paused(reason, error):
                end = self._end(StepState.CANCELED, Outcome.PAUSED_BY_FLOW_CONTROL, error=error)
                return self._hold(end, reason or "paused by its step")
            case Raised():
                return self._fail(outcome)
            case Lost():
                return self._recover(outcome)
            case HandedOver() | Parked():
                return self._put_back(outcome)
            case _:
                assert_never(outcome)

    def _end(
        self,
        state: StepState,
        outcome: Outcome | None,
        *,
        error: ErrorDetails | None = None,
        result: str | None = None,
    ) -> ExecutionMove:
        return ExecutionMove(
            record=self.execution, state=state, outcome=outcome, error=error, result=result
        )

    def _advance(self, end: ExecutionMove) -> Change:
        following = self.definition.after(self.execution.step_name)
        if following is None:
            return self._stop(end, WorkflowState.FINISHED, passed=True)
        at = self.now + following.options.wait
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(
                state=WorkflowState.READY,
                next_step_name=following.name,
                previous_step_name=self.execution.step_name,
            ),
            executions=(end,),
            schedule=(scheduled(self.definition, self.workflow, following, at),),
        )

    def _stop(self, end: ExecutionMove, state: WorkflowState, *, passed: bool = False) -> Change:
        previous = self.execution.step_name if passed else self.workflow.previous_step_name
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(state=state, next_step_name=None, previous_step_name=previous),
            executions=(end,),
        )

    def _hold(self, end: ExecutionMove, reason: str) -> Change:
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(
                state=WorkflowState.PAUSED,
                next_step_name=self.execution.step_name,
                previous_step_name=self.workflow.previous_step_name,
                paused_reason=reason,
                paused_step_name=self.execution.step_name,
            ),
            executions=(end,),
        )

    def _repeat(
        self, end: ExecutionMove, wait: timedelta, failures: str | None, recoveries: int
    ) -> Change:
        following = replace(
            again(self.execution, self.now + wait),
            failures=failures,
            recoveries=recoveries,
            is_limited=self._is_limited(),
        )
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(
                state=WorkflowState.READY,
                next_step_name=self.execution.step_name,
                previous_step_name=self.workflow.previous_step_name,
            ),
            executions=(end,),
            schedule=(following,),
        )

    def _is_limited(self) -> bool:
        definition = self._given_definition
        node = definition.get(self.execution.step_name) if definition else None
        return node is not None and node.options.limit is not None

    def _fail(self, raised: Raised) -> Change:
        action, ran_out = _settle(raised, self.execution)
        outcome = ending_of(raised, self.execution)
        state = StepState.SKIPPED if action is ExceptionAction.SKIP else StepState.FAILED
        end = self._end(state, outcome, error=raised.error)
        change = self._after_failure(end, action, raised)
        if ran_out:
            return replace(change, dead_letter=DeadLetterReason.MAX_RETRIES_EXCEEDED)
        return change

    def _after_failure(self, end: ExecutionMove, action: ExceptionAction, raised: Raised) -> Change:
        match action:
            case ExceptionAction.SKIP:
                return self._advance(end)
            case ExceptionAction.CANCEL:
                return self._stop(end, WorkflowState.CANCELED)
            case ExceptionAction.PAUSE:
                return self._hold(end, f"{raised.error.error_class}: {raised.error.message}")
            case ExceptionAction.REATTEMPT:
                failures = self._count_failure(raised.reaction.policy)
                return self._repeat(end, raised.reaction.wait, failures, self.execution.recoveries)
            case _:
                assert_never(action)

    def _count_failure(self, policy: str | None) -> str | None:
        if policy is None:
            return self.execution.failures
        counts = self.execution.failure_counts
        return serialization.dump({**counts, policy: counts.get(policy, 0) + 1})

    def _recover(self, lost: Lost) -> Change:
        error = ErrorDetails(
            error_class="geneva_drive.errors.ClaimLost", message=lost.why, backtrace=""
        )
        end = self._end(StepState.FAILED, Outcome.RECOVERED, error=error)
        counted = 0 if lost.limit is None else 1
        if lost.limit is not None and self.execution.recoveries >= lost.limit:
            held = self._hold(end, f"{lost.why} (for the {lost.limit + 1}. time)")
            return replace(held, dead_letter=DeadLetterReason.WORKER_UNAVAILABLE)
        return self._repeat(
            end, timedelta(0), self.execution.failures, self.execution.recoveries + counted
        )

    def _put_back(self, outcome: HandedOver | Parked) -> Change:
        until = outcome.until if isinstance(outcome, HandedOver) else None
        is_due = until is not None and until <= self.now
        back = ExecutionMove(
            record=self.execution,
            state=StepState.SCHEDULED,
            claimable=is_due,
            wakes_at=None if is_due else until,
            limit_key=outcome.limit_key if isinstance(outcome, Parked) else None,
        )
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(
                state=WorkflowState.READY,
                next_step_name=self.execution.step_name,
                previous_step_name=self.workflow.previous_step_name,
            ),
            executions=(back,),
        )


def honour_request(change: Change) -> Change:
    """Let a pause or cancel that was asked for while the step ran take effect now."""
    requested = change.record.requested
    moved = change.workflow
    if requested is None or moved.state in (WorkflowState.FINISHED, WorkflowState.CANCELED):
        return change
    if requested is Request.CANCEL:
        return _cancel(change)
    if moved.state is WorkflowState.PAUSED:
        return change
    return _pause(change)


def _pause(change: Change) -> Change:
    return replace(
        change,
        workflow=replace(
            change.workflow,
            state=WorkflowState.PAUSED,
            paused_reason=change.record.requested_reason,
            paused_step_name=change.workflow.next_step_name,
        ),
        executions=tuple(
            replace(move, claimable=False, wakes_at=None, limit_key=None, stop=Request.PAUSE)
            if move.state is StepState.SCHEDULED
            else move
            for move in change.executions
        ),
        schedule=tuple(replace(new, stop=Request.PAUSE) for new in change.schedule),
    )


def _cancel(change: Change) -> Change:
    return replace(
        change,
        workflow=WorkflowMove(
            state=WorkflowState.CANCELED,
            next_step_name=None,
            previous_step_name=change.workflow.previous_step_name,
        ),
        executions=tuple(
            replace(
                move,
                state=StepState.CANCELED,
                outcome=Outcome.CANCELED_BY_OPERATOR,
                claimable=False,
                wakes_at=None,
                limit_key=None,
            )
            if move.state is StepState.SCHEDULED
            else move
            for move in change.executions
        ),
        schedule=tuple(
            replace(new, state=StepState.CANCELED, outcome=Outcome.CANCELED_BY_OPERATOR)
            for new in change.schedule
        ),
    )
