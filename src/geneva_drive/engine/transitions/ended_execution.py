"""The changes that can follow when an execution ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from geneva_drive.declarative.actions.changes import apply_changes
from geneva_drive.definition.definition import Definition
from geneva_drive.engine.transitions.change import Change, ExecutionMove, WorkflowMove
from geneva_drive.engine.transitions.loop_position import LoopPosition, before_partitions
from geneva_drive.engine.transitions.outcome import Awaiting, ContextUpdate, ErrorDetails, Routed
from geneva_drive.engine.transitions.partitions import plan_partitions
from geneva_drive.engine.transitions.planned_executions import plan_next_attempt, plan_node
from geneva_drive.engine.transitions.wait_kinds import MomentWait
from geneva_drive.errors import ExpressionFailed
from geneva_drive.serialization import typed_json
from geneva_drive.states import Interruption, Outcome, StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord


class EndedExecution:
    """An execution whose run is over; each method returns one way for its workflow to continue."""

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
        self._definition = definition
        self.workflow = workflow
        self.execution = position.applied_to(execution) if position else execution
        self._position = position
        self._now = now
        self._in_graph = in_graph

    def end(
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
            position=self._position,
        )

    def advance(self, end: ExecutionMove) -> Change:
        """Schedule the step after this one, or finish the workflow."""
        if self._in_graph:
            return self._change(end, WorkflowState.READY, None, self.execution.step_name)
        assert self._definition is not None, "this outcome comes from running the class"
        following = self._definition.after(self.execution.step_name)
        if following is None:
            return self.close(end, WorkflowState.FINISHED, is_passed=True)
        wait = following.options.wait
        at = self._now + wait if wait else self._now
        parents = [self.execution.ancestry_hash]
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(
                state=WorkflowState.READY,
                next_step_name=following.name,
                previous_step_name=self.execution.step_name,
            ),
            executions=(end,),
            schedule=(plan_node(self._definition, self.workflow, following, at, parents),),
        )

    def close(self, end: ExecutionMove, state: WorkflowState, *, is_passed: bool = False) -> Change:
        """Finish or cancel the workflow; `is_passed` records this step as the last one done."""
        previous = self.execution.step_name if is_passed else self.workflow.previous_step_name
        return self._change(end, state, None, previous)

    def pause(self, end: ExecutionMove, reason: str) -> Change:
        """Pause the workflow at this step."""
        name = self.execution.step_name
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(
                state=WorkflowState.PAUSED,
                next_step_name=name,
                previous_step_name=self.workflow.previous_step_name,
                paused_reason=reason,
                paused_step_name=name,
            ),
            executions=(end,),
        )

    def repeat(
        self,
        end: ExecutionMove,
        wait: timedelta,
        *,
        failures: str | None = None,
        recoveries: int | None = None,
        rewind: bool = False,
    ) -> Change:
        """Schedule another attempt at this step; counts passed as None are carried over."""
        execution = self.execution
        following = replace(
            plan_next_attempt(execution, self._now + wait, rewind=rewind),
            failures=execution.failures if failures is None else failures,
            recoveries=execution.recoveries if recoveries is None else recoveries,
            is_limited=self._is_limited(),
        )
        return replace(self.stay(end), schedule=(following,))

    def failures_after(self, policy: str | None) -> str | None:
        """Return the failure counts, with one more for `policy`; unchanged if it is None."""
        if policy is None:
            return self.execution.failures
        counts = self.execution.failure_counts
        return typed_json.dump({**counts, policy: counts.get(policy, 0) + 1})

    def put_back(self, until: datetime | None, limit_key: str | None = None) -> Change:
        """Schedule the same execution again, at `until` or when its limit has a free slot."""
        is_due = until is not None and until <= self._now
        return self.stay(
            ExecutionMove(
                record=self.execution,
                state=StepState.SCHEDULED,
                claimable=is_due,
                wakes_at=None if is_due else until,
                limit_key=limit_key,
            )
        )

    def follow_route(self, routed: Routed) -> Change:
        """Schedule the step that this one names, or finish the workflow with its verdict."""
        end = replace(
            self.end(StepState.COMPLETED, routed.outcome, result=routed.result),
            metadata=routed.metadata,
        )
        context = merged_context(self.workflow, routed.context)
        if routed.next_step is None:
            change = self.close(end, WorkflowState.FINISHED, is_passed=True)
            verdict = replace(change.workflow, result=routed.verdict, result_reason=routed.reason)
            return replace(change, workflow=verdict, context=context)
        definition = self._definition
        assert definition is not None, "this outcome comes from running the document"
        following = definition.require(routed.next_step)
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(
                state=WorkflowState.READY,
                next_step_name=following.name,
                previous_step_name=self.execution.step_name,
            ),
            executions=(end,),
            schedule=(plan_node(definition, self.workflow, following, self._now),),
            context=context,
        )

    def wait_for(self, awaiting: Awaiting) -> Change:
        """Keep the execution `waiting` until its wait is released, or `scheduled` for a moment."""
        wait = awaiting.wait
        if isinstance(wait, MomentWait):
            return self.stay(
                ExecutionMove(
                    record=self.execution,
                    state=StepState.SCHEDULED,
                    wakes_at=wait.until,
                    scheduled_for=wait.until,
                    wait=wait,
                )
            )
        move = ExecutionMove(
            record=self.execution,
            state=StepState.WAITING,
            wait=wait,
            metadata=awaiting.metadata,
        )
        context = merged_context(self.workflow, awaiting.context)
        return replace(self.stay(move), context=context)

    def suspend(self, by: Interruption, wait: timedelta) -> Change:
        """Suspend the execution; it continues at its cursor after `wait`."""
        until = self._now + wait
        is_due = until <= self._now
        return self.stay(
            ExecutionMove(
                record=self.execution,
                state=StepState.SUSPENDED,
                claimable=is_due,
                wakes_at=None if is_due else until,
                scheduled_for=until,
                interrupted_by=by,
                position=self._position,
            )
        )

    def divide(self, ends: Sequence[Any]) -> Change:
        """Complete the execution that found the borders, and schedule one for each partition."""
        end = ExecutionMove(
            record=self.execution, state=StepState.COMPLETED, outcome=Outcome.SUCCESS
        )
        planned = replace(
            plan_next_attempt(self.execution, self._now, rewind=True),
            is_limited=self._is_limited(),
            position=before_partitions(self.execution),
        )
        partitions = plan_partitions(planned, self.execution.id, ends)
        return replace(self.stay(end), schedule=tuple(partitions))

    def stay(self, move: ExecutionMove) -> Change:
        """Leave the workflow at this step."""
        name = self.execution.step_name
        return self._change(move, WorkflowState.READY, name, self.workflow.previous_step_name)

    def _change(
        self,
        move: ExecutionMove,
        state: WorkflowState,
        next_step_name: str | None,
        previous_step_name: str | None,
    ) -> Change:
        return Change(
            record=self.workflow,
            workflow=WorkflowMove(
                state=state,
                next_step_name=next_step_name,
                previous_step_name=previous_step_name,
            ),
            executions=(move,),
        )

    def _is_limited(self) -> bool:
        definition = self._definition
        node = definition.get(self.execution.step_name) if definition else None
        return node is not None and node.options.limit is not None


def merged_context(workflow: WorkflowRecord, update: ContextUpdate | None) -> str | None:
    """Return the new context as stored text; None if nothing is written."""
    if update is None:
        return None
    if workflow.context == update.before:  # nearly always
        return update.after
    present = typed_json.load(workflow.context) or {}
    try:
        return typed_json.dump(apply_changes(present, update.changes))
    except ExpressionFailed:
        return update.after  # the changes do not apply to what others wrote meanwhile
