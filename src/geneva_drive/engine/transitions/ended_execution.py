"""An execution that ended, and the changes that can follow."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from geneva_drive.definition.definition import Definition
from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.transitions.change import Change, ExecutionMove, WorkflowMove
from geneva_drive.engine.transitions.loop_position import LoopPosition, before_partitions
from geneva_drive.engine.transitions.outcome import (
    Awaiting,
    Canceled,
    Divided,
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
    Suspended,
    ordinal,
)
from geneva_drive.engine.transitions.partitions import plan_partitions
from geneva_drive.engine.transitions.planned_executions import plan_next_attempt, plan_node
from geneva_drive.engine.transitions.recorded_outcome import apply_retry_limit, recorded_outcome
from geneva_drive.serialization import typed_json
from geneva_drive.states import DeadLetterReason, Outcome, StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord


class EndedExecution:
    """One execution that ended, and the changes that may come of it."""

    def __init__(
        self,
        definition: Definition | None,
        workflow: WorkflowRecord,
        execution: ExecutionRecord,
        now: datetime,
        position: LoopPosition | None,
        *,
        in_graph: bool = False,
    ) -> None:
        self._given_definition = definition
        self.workflow = workflow
        self.execution = position.reached_by(execution) if position else execution
        self.position = position
        self.now = now
        self._in_graph = in_graph

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
            case Reattempted(wait, error, rewind):
                end = self._end(StepState.COMPLETED, Outcome.REATTEMPTED, error=error)
                counts = self.execution.failures, self.execution.recoveries
                return self._repeat(end, wait, *counts, rewind=rewind)
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
            case HandedOver() | Parked() | Suspended() | Divided() | Awaiting():
                return self._leave(outcome)
            case _:
                assert_never(outcome)

    def _leave(self, outcome: HandedOver | Parked | Suspended | Divided | Awaiting) -> Change:
        """Let a step go on that is not over, be it elsewhere."""
        match outcome:
            case HandedOver() | Parked():
                return self._put_back(outcome)
            case Suspended():
                return self._suspend(outcome)
            case Divided():
                return self._divide(outcome)
            case Awaiting(wait):
                waiting = StepState.WAITING
                move = ExecutionMove(record=self.execution, state=waiting, wait=wait)
                return self._stay(move)
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
            record=self.execution,
            state=state,
            outcome=outcome,
            error=error,
            result=result,
            position=self.position,
        )

    def _advance(self, end: ExecutionMove) -> Change:
        if self._in_graph:
            move = WorkflowMove(
                state=WorkflowState.READY,
                next_step_name=None,
                previous_step_name=self.execution.step_name,
            )
            return Change(record=self.workflow, workflow=move, executions=(end,))
        following = self.definition.after(self.execution.step_name)
        if following is None:
            return self._stop(end, WorkflowState.FINISHED, passed=True)
        wait = following.options.wait
        at = self.now + wait if wait else self.now
        parents = [self.execution.ancestry_hash]
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(
                state=WorkflowState.READY,
                next_step_name=following.name,
                previous_step_name=self.execution.step_name,
            ),
            executions=(end,),
            schedule=(plan_node(self.definition, self.workflow, following, at, parents),),
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
        self,
        end: ExecutionMove,
        wait: timedelta,
        failures: str | None,
        recoveries: int,
        *,
        rewind: bool = False,
    ) -> Change:
        following = replace(
            plan_next_attempt(self.execution, self.now + wait, rewind=rewind),
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
        action, ran_out = apply_retry_limit(raised, self.execution)
        outcome = recorded_outcome(raised, self.execution)
        state = StepState.SKIPPED if action is ExceptionAction.SKIP else StepState.FAILED
        end = self._end(state, outcome, error=raised.error)
        change = self._after_failure(end, action, raised)
        if ran_out:
            return replace(change, dead_letter=DeadLetterReason.MAX_RETRIES_EXCEEDED)
        return replace(change, dead_letter=raised.dead_letter)

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
        return typed_json.dump({**counts, policy: counts.get(policy, 0) + 1})

    def _recover(self, lost: Lost) -> Change:
        error = ErrorDetails(
            error_class="geneva_drive.errors.ClaimLost", message=lost.why, backtrace=""
        )
        end = self._end(StepState.FAILED, Outcome.RECOVERED, error=error)
        counted = 0 if lost.limit is None else 1
        if lost.limit is not None and self.execution.recoveries >= lost.limit:
            held = self._hold(end, f"{lost.why} (for the {ordinal(lost.limit + 1)} time)")
            return replace(held, dead_letter=DeadLetterReason.WORKER_UNAVAILABLE)
        repeated = self._repeat(
            end, timedelta(0), self.execution.failures, self.execution.recoveries + counted
        )
        # What it was about to say of a child that has ended: it is not started once more.
        [following] = repeated.schedule
        kept = replace(following, child_id=self.execution.child_id)
        return replace(repeated, schedule=(kept,))

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
        return self._stay(back)

    def _suspend(self, suspended: Suspended) -> Change:
        until = self.now + suspended.wait
        is_due = until <= self.now
        return self._stay(
            ExecutionMove(
                record=self.execution,
                state=StepState.SUSPENDED,
                claimable=is_due,
                wakes_at=None if is_due else until,
                scheduled_for=until,
                interrupted_by=suspended.by,
                position=self.position,
            )
        )

    def _divide(self, division: Divided) -> Change:
        """End the execution that found the borders; one for each share goes on from there."""
        end = ExecutionMove(
            record=self.execution, state=StepState.COMPLETED, outcome=Outcome.SUCCESS
        )
        planned = replace(
            plan_next_attempt(self.execution, self.now, rewind=True),
            is_limited=self._is_limited(),
            position=before_partitions(self.execution),
        )
        partitions = plan_partitions(
            planned, self.execution.id, [division.after, *division.borders, None]
        )
        return replace(self._stay(end), schedule=tuple(partitions))

    def _stay(self, back: ExecutionMove) -> Change:
        """Let the same execution be claimed again."""
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(
                state=WorkflowState.READY,
                next_step_name=self.execution.step_name,
                previous_step_name=self.workflow.previous_step_name,
            ),
            executions=(back,),
        )
