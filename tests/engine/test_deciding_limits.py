from __future__ import annotations

import pytest

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.transitions.decide import decide
from geneva_drive.engine.transitions.outcome import (
    Lost,
    Raised,
    Reattempted,
    Returned,
    recorded_outcome,
)
from geneva_drive.states import Outcome, StepState, WorkflowState
from tests.engine.cases import DEFINITION, ERROR, NOW, execution, reattempting, workflow

FAILED_TWICE = '{"step.0":2}'


def test_a_failure_is_counted_for_the_policy_that_answered_it() -> None:
    failed = execution(failures='{"class.0":1,"step.0":1}')

    change = decide(DEFINITION, workflow(), failed, Raised(ERROR, reattempting(3)), NOW)

    assert change.schedule[0].failures == '{"class.0":1,"step.0":2}'


def test_a_limit_that_is_reached_ends_the_reattempts() -> None:
    outcome = Raised(ERROR, reattempting(2))

    change = decide(DEFINITION, workflow(), execution(failures=FAILED_TWICE), outcome, NOW)

    assert change.executions[0].outcome is Outcome.PAUSED_BY_EXCEPTION
    assert change.workflow.state is WorkflowState.PAUSED
    assert change.dead_letter == "max_retries_exceeded"


def test_a_limit_is_not_reached_by_failures_under_another_policy() -> None:
    outcome = Raised(ERROR, reattempting(2, policy="class.0"))

    change = decide(DEFINITION, workflow(), execution(failures=FAILED_TWICE), outcome, NOW)

    assert change.schedule[0].failures == '{"step.0":2,"class.0":1}'
    assert change.dead_letter is None


@pytest.mark.parametrize(
    ("then", "state", "outcome", "ended"),
    [
        ("pause", StepState.FAILED, Outcome.PAUSED_BY_EXCEPTION, WorkflowState.PAUSED),
        ("cancel", StepState.FAILED, Outcome.CANCELED_BY_EXCEPTION, WorkflowState.CANCELED),
        ("skip", StepState.SKIPPED, Outcome.SKIPPED_BY_EXCEPTION, WorkflowState.READY),
    ],
)
def test_the_terminal_action_follows_the_last_reattempt(
    then: str, state: StepState, outcome: Outcome, ended: WorkflowState
) -> None:
    raised = Raised(ERROR, reattempting(2, then=ExceptionAction(then)))
    failed = execution(failures=FAILED_TWICE)

    change = decide(DEFINITION, workflow(), failed, raised, NOW)

    assert (change.executions[0].state, change.executions[0].outcome) == (state, outcome)
    assert change.workflow.state is ended
    assert change.dead_letter == "max_retries_exceeded"
    assert recorded_outcome(raised, failed) is outcome


def test_a_timeout_that_was_the_last_is_recorded_as_one() -> None:
    raised = Raised(ERROR, reattempting(2), timed_out=True)

    change = decide(DEFINITION, workflow(), execution(failures=FAILED_TWICE), raised, NOW)

    assert change.executions[0].outcome is Outcome.TIMED_OUT
    assert change.dead_letter == "max_retries_exceeded"


def test_without_a_limit_reattempts_go_on() -> None:
    raised = Raised(ERROR, reattempting(None))

    change = decide(DEFINITION, workflow(), execution(failures='{"step.0":100000}'), raised, NOW)

    assert change.schedule[0].failures == '{"step.0":100001}'


def test_success_begins_the_count_of_the_next_step_anew() -> None:
    change = decide(
        DEFINITION, workflow(), execution(failures=FAILED_TWICE, recoveries=2), Returned(), NOW
    )

    assert (change.schedule[0].failures, change.schedule[0].recoveries) == (None, 0)


def test_a_deliberate_reattempt_neither_counts_nor_resets() -> None:
    failed = execution(failures=FAILED_TWICE, recoveries=2)

    change = decide(DEFINITION, workflow(), failed, Reattempted(NOW - NOW), NOW)

    assert (change.schedule[0].failures, change.schedule[0].recoveries) == (FAILED_TWICE, 2)


def test_a_failure_keeps_the_count_of_recoveries_and_a_loss_that_of_failures() -> None:
    former = execution(failures=FAILED_TWICE, recoveries=1)

    after_failure = decide(DEFINITION, workflow(), former, Raised(ERROR, reattempting(9)), NOW)
    after_loss = decide(DEFINITION, workflow(), former, Lost("Worker w was lost.", 3), NOW)

    assert after_failure.schedule[0].recoveries == 1
    assert (after_loss.schedule[0].failures, after_loss.schedule[0].recoveries) == (FAILED_TWICE, 2)


@pytest.mark.parametrize(
    ("limit", "time"),
    [(0, "1st"), (1, "2nd"), (2, "3rd"), (3, "4th"), (10, "11th"), (20, "21st"), (111, "112th")],
)
def test_the_reason_counts_the_recoveries_as_people_do(limit: int, time: str) -> None:
    lost = Lost("Worker w was lost.", limit)

    change = decide(DEFINITION, workflow(), execution(recoveries=limit), lost, NOW)

    assert change.workflow.paused_reason == f"Worker w was lost. (for the {time} time)"


def test_recoveries_that_ran_out_pause_the_workflow_with_a_dead_letter() -> None:
    lost = Lost("Worker w was lost.", limit=3)

    change = decide(DEFINITION, workflow(), execution(recoveries=3), lost, NOW)

    assert change.executions[0].outcome is Outcome.RECOVERED
    assert change.workflow.state is WorkflowState.PAUSED
    assert change.workflow.paused_reason == "Worker w was lost. (for the 4th time)"
    assert change.schedule == ()
    assert change.dead_letter == "worker_unavailable"


def test_an_execution_that_a_stopping_worker_gives_back_is_not_counted() -> None:
    given_back = Lost("Its worker was stopped before it ended.", limit=None)

    change = decide(DEFINITION, workflow(), execution(recoveries=3), given_back, NOW)

    assert change.schedule[0].recoveries == 3
    assert change.dead_letter is None


def test_no_recovery_at_all_may_be_allowed() -> None:
    change = decide(DEFINITION, workflow(), execution(), Lost("Worker w was lost.", 0), NOW)

    assert change.workflow.state is WorkflowState.PAUSED
    assert change.dead_letter == "worker_unavailable"
