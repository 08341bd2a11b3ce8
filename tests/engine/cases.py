"""Workflows and executions made by hand, for decisions that need no database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.definition.workflow import definition_of
from geneva_drive.engine.transitions.change import Change
from geneva_drive.engine.transitions.outcome import ErrorDetails, Reaction
from geneva_drive.states import Outcome, Request, StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(minutes=5)
ERROR = ErrorDetails(error_class="builtins.ValueError", message="no", backtrace="...")


class Signup(gd.Workflow[Any]):
    """First, then a removed step, then one with options of its own, then the last."""

    type_name = "tests.engine.cases.Signup"
    queue = "mail"
    priority = 3

    @gd.step
    def first(self) -> None: ...

    gone = gd.removed_step()

    @gd.step(wait=60, queue="slow", priority=7, renamed_from="former")
    def second(self) -> None: ...

    @gd.step
    def last(self) -> None: ...


DEFINITION: Definition = definition_of(Signup)


def workflow(**changes: Any) -> WorkflowRecord:
    values: dict[str, Any] = dict.fromkeys(WorkflowRecord._fields)
    values |= {
        "id": 1,
        "type": DEFINITION.type,
        "state": WorkflowState.READY,
        "allow_multiple": False,
        "next_step_name": "first",
        "created_at": EARLIER,
        "updated_at": EARLIER,
    }
    return WorkflowRecord(**{**values, **changes})


def execution(step_name: str = "first", **changes: Any) -> ExecutionRecord:
    values: dict[str, Any] = dict.fromkeys(ExecutionRecord._fields)
    values |= {
        "id": 11,
        "workflow_id": 1,
        "type": DEFINITION.type,
        "signature": "signature of the row",
        "step_name": step_name,
        "node_id": step_name,
        "slot": "chain",
        "attempt_number": 1,
        "state": StepState.IN_PROGRESS,
        "queue": "mail",
        "priority": 3,
        "claimable": False,
        "worker_id": "worker",
        "claim_token": "token",
        "recoveries": 0,
        "completed_iterations": 0,
        "item_errors": 0,
        "scheduled_for": EARLIER,
        "created_at": EARLIER,
        "started_at": EARLIER,
    }
    return ExecutionRecord(**{**values, **changes})


def reattempting(
    limit: int | None,
    *,
    wait: timedelta = timedelta(0),
    policy: str = "step.0",
    then: ExceptionAction = ExceptionAction.PAUSE,
) -> Reaction:
    return Reaction(
        action=ExceptionAction.REATTEMPT,
        wait=wait,
        policy=policy,
        limit=limit,
        terminal_action=then,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a change says, in the words of the tables in the documentation."""

    execution: tuple[StepState, Outcome | None]
    workflow: WorkflowState
    following: tuple[str, StepState, Outcome | None, Request | None, timedelta] | None = None
    next_step: str | None = None
    previous_step: str | None = None
    paused: tuple[str | None, str | None] | None = None
    dead_letter: str | None = None


def summary(change: Change) -> Summary:
    [move] = change.executions
    moved = change.workflow
    new = change.schedule[0] if change.schedule else None
    return Summary(
        execution=(move.state, move.outcome),
        workflow=moved.state,
        following=(new.step_name, new.state, new.outcome, new.stop, new.scheduled_for - NOW)
        if new
        else None,
        next_step=moved.next_step_name,
        previous_step=moved.previous_step_name,
        paused=(moved.paused_step_name, moved.paused_reason)
        if moved.state is WorkflowState.PAUSED
        else None,
        dead_letter=change.dead_letter,
    )
