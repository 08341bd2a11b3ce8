"""What follows when a loop stops: decisions that need no database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.commit.rows import checkpoint_values, execution_values
from geneva_drive.engine.transitions.change import Change, ExecutionMove
from geneva_drive.engine.transitions.decide import decide
from geneva_drive.engine.transitions.loop_position import LoopPosition, carried_over
from geneva_drive.engine.transitions.outcome import (
    Canceled,
    Finished,
    Lost,
    Parked,
    Paused,
    Raised,
    Reaction,
    Reattempted,
    Returned,
    Skipped,
    StepOutcome,
    Suspended,
    recorded_outcome,
)
from geneva_drive.states import Interruption, Outcome, Request, StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from tests.engine.cases import (
    DEFINITION,
    ERROR,
    NOW,
    Summary,
    execution,
    reattempting,
    summary,
    workflow,
)

MINUTE = timedelta(minutes=1)
SUSPENDED, SCHEDULED = StepState.SUSPENDED, StepState.SCHEDULED
SAVED: dict[str, Any] = {"cursor": "3", "completed_iterations": 3, "progress": '{"seconds":1.0}'}
HERE = LoopPosition(cursor="5", completed_iterations=5, item_errors=1, progress='{"seconds":2.0}')


def decided(
    outcome: StepOutcome,
    *,
    record: ExecutionRecord | None = None,
    of: WorkflowRecord | None = None,
    position: LoopPosition | None = HERE,
) -> Change:
    return decide(
        DEFINITION,
        of or workflow(),
        record or execution(**SAVED),
        outcome,
        NOW,
        position,
    )


def only(change: Change) -> ExecutionMove:
    [move] = change.executions
    return move


@pytest.mark.parametrize(
    ("wait", "claimable", "wakes_at"),
    [(timedelta(0), True, None), (MINUTE, False, NOW + MINUTE)],
    ids=["now", "later"],
)
def test_a_suspended_execution_is_claimed_again_when_its_wait_is_over(
    wait: timedelta, claimable: bool, wakes_at: object
) -> None:
    change = decided(Suspended(Interruption.THROTTLED, wait))

    assert summary(change) == Summary(
        execution=(SUSPENDED, None), workflow=WorkflowState.READY, next_step="first"
    )
    move = only(change)
    assert (move.claimable, move.wakes_at, move.scheduled_for) == (claimable, wakes_at, NOW + wait)
    assert (move.interrupted_by, move.position) == (Interruption.THROTTLED, HERE)


def test_a_suspended_execution_ends_for_nobody() -> None:
    assert recorded_outcome(Suspended(Interruption.SHUTDOWN), execution()) is None


def test_a_pause_that_was_asked_for_holds_the_suspended_execution() -> None:
    asked = workflow(requested=Request.PAUSE, requested_reason="stop")
    change = decided(Suspended(Interruption.PAUSED, MINUTE), of=asked)

    assert summary(change) == Summary(
        execution=(SUSPENDED, None),
        workflow=WorkflowState.PAUSED,
        next_step="first",
        paused=("first", "stop"),
    )
    move = only(change)
    assert (move.claimable, move.wakes_at, move.stop) == (False, None, Request.PAUSE)
    assert (move.scheduled_for, move.position) == (NOW + MINUTE, HERE)


def test_a_cancel_that_was_asked_for_ends_the_suspended_execution() -> None:
    asked = workflow(requested=Request.CANCEL)
    change = decided(Suspended(Interruption.CANCELED), of=asked)

    assert summary(change) == Summary(
        execution=(StepState.CANCELED, Outcome.CANCELED_BY_OPERATOR),
        workflow=WorkflowState.CANCELED,
    )
    move = only(change)
    assert (move.claimable, move.wakes_at, move.position) == (False, None, HERE)


@pytest.mark.parametrize(
    ("outcome", "cursor"),
    [
        (Returned(), None),
        (Finished(), None),
        (Skipped(Outcome.SKIPPED_BY_FLOW_CONTROL), "5"),
        (Canceled(Outcome.CANCELED_BY_FLOW_CONTROL), "5"),
        (Paused(None), "5"),
        (Raised(ERROR, Reaction(action=ExceptionAction.PAUSE)), "5"),
        (Reattempted(timedelta(0)), "5"),
        (Suspended(Interruption.SUSPEND), "5"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str | None) else None,
)
def test_the_cursor_is_cleared_by_success_only(outcome: StepOutcome, cursor: str | None) -> None:
    values = execution_values(only(decided(outcome)), NOW)

    assert (values["cursor"], values["completed_iterations"], values["item_errors"]) == (
        cursor,
        5,
        1,
    )


def test_where_an_execution_stood_when_it_ended_is_kept() -> None:
    [row] = checkpoint_values(only(decided(Returned())), NOW)

    assert (row["cursor"], row["completed_iterations"], row["reason"], row["at"]) == (
        "5",
        5,
        "success",
        NOW,
    )


def test_why_an_execution_was_interrupted_is_kept_with_what_was_noted_before() -> None:
    record = execution(**SAVED, metadata='{"note":1}')
    move = only(decided(Suspended(Interruption.MAX_RUNTIME), record=record))

    assert execution_values(move, NOW)["metadata"] == '{"note":1,"interrupted_by":"max_runtime"}'
    assert [row["reason"] for row in checkpoint_values(move, NOW)] == ["max_runtime"]


@pytest.mark.parametrize(
    "outcome",
    [
        Reattempted(timedelta(0)),
        Raised(ERROR, reattempting(3)),
        Lost("gone", 3),
    ],
    ids=["reattempted", "raised", "lost"],
)
def test_a_further_attempt_goes_on_where_the_loop_stands(outcome: StepOutcome) -> None:
    [following] = decided(outcome).schedule

    assert following.position == HERE


def test_a_further_attempt_of_a_lost_execution_goes_on_from_what_was_saved() -> None:
    [following] = decided(Lost("gone", 3), position=None).schedule

    assert following.position == LoopPosition(
        cursor="3", completed_iterations=3, progress='{"seconds":1.0}'
    )


def test_a_rewound_attempt_starts_over() -> None:
    [following] = decided(Reattempted(timedelta(0), rewind=True)).schedule

    assert following.position is None


def test_the_next_step_starts_at_its_own_beginning() -> None:
    [following] = decided(Returned()).schedule

    assert (following.step_name, following.position) == ("second", None)


STANDING = LoopPosition(cursor="3", completed_iterations=3)


@pytest.mark.parametrize(
    ("position", "action", "failures"),
    [(STANDING, "failed", None), (HERE, "scheduled", '{"step.0":1}')],
    ids=["at the same item", "further on"],
)
def test_only_failures_at_the_same_item_are_in_a_row(
    position: LoopPosition, action: str, failures: str | None
) -> None:
    record = execution(**SAVED, failures='{"step.0":2}')
    change = decided(Raised(ERROR, reattempting(2)), record=record, position=position)

    planned = change.schedule[0] if change.schedule else None
    assert (planned.state if planned else only(change).state) == action
    assert (planned.failures if planned else None) == failures


def test_the_after_hook_is_told_the_ending_that_will_be_recorded() -> None:
    raised = Raised(ERROR, reattempting(2))
    record = execution(**SAVED, failures='{"step.0":2}')

    assert recorded_outcome(raised, record) is Outcome.PAUSED_BY_EXCEPTION
    assert recorded_outcome(raised, HERE.applied_to(record)) is Outcome.REATTEMPTED_BY_EXCEPTION


def test_a_loop_that_came_further_has_all_its_recoveries_again() -> None:
    record = execution(**SAVED, recoveries=3)
    further = decided(Lost("gone", 3), record=record)
    nowhere = decided(Lost("gone", 3), record=record, position=None)

    assert [new.recoveries for new in further.schedule] == [1]
    assert summary(nowhere).dead_letter == "worker_unavailable"


def test_a_deliberate_reattempt_without_progress_forgives_nothing() -> None:
    record = execution(**SAVED, failures='{"step.0":2}', recoveries=1)
    [following] = decided(Reattempted(timedelta(0)), record=record, position=STANDING).schedule

    assert (following.failures, following.recoveries) == ('{"step.0":2}', 1)


def test_what_is_parked_keeps_its_position_as_it_was_saved() -> None:
    move = only(decided(Parked("a limit"), position=None))

    values = execution_values(move, NOW)
    assert (move.state, "cursor" in values) == (SCHEDULED, False)


@pytest.mark.parametrize(
    ("latest", "position"),
    [
        (None, None),
        (execution(**SAVED, state=StepState.COMPLETED, outcome=Outcome.SUCCESS), None),
        (execution(**SAVED, state=StepState.SKIPPED, outcome=Outcome.SKIPPED_BY_OPERATOR), None),
        (execution(**SAVED, state=StepState.FAILED, outcome=Outcome.RECOVERED), "3"),
        (execution(**SAVED, state=StepState.CANCELED), "3"),
        (execution(**SAVED, state=StepState.COMPLETED, outcome=Outcome.REATTEMPTED), "3"),
    ],
    ids=["never tried", "completed", "skipped", "failed", "canceled", "reattempted"],
)
def test_a_new_attempt_by_command_goes_on_unless_the_step_was_done(
    latest: ExecutionRecord | None, position: str | None
) -> None:
    carried = carried_over(latest)

    assert (carried.cursor if carried else None) == position
