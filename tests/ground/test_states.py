from __future__ import annotations

import pytest

from geneva_drive.states import (
    ACTIVE_STEP_STATES,
    ENDED_WORKFLOW_STATES,
    STEP_MOVES,
    STORED_WORKFLOW_STATES,
    WORKFLOW_MOVES,
    Outcome,
    StepState,
    WorkflowState,
    is_done,
)


def test_the_states_of_a_workflow_are_those_of_the_contract() -> None:
    assert list(WorkflowState) == ["ready", "performing", "paused", "finished", "canceled"]


def test_the_states_of_a_step_execution_are_those_of_the_contract() -> None:
    assert list(StepState) == [
        "pending",
        "scheduled",
        "in_progress",
        "suspended",
        "waiting",
        "completed",
        "failed",
        "skipped",
        "canceled",
    ]


def test_the_outcomes_are_those_of_the_contract() -> None:
    assert list(Outcome) == [
        "success",
        "reattempted",
        "reattempted_by_exception",
        "skipped_by_condition",
        "skipped_by_flow_control",
        "skipped_by_exception",
        "skipped_by_branch",
        "skipped_by_removal",
        "skipped_by_operator",
        "canceled_by_flow_control",
        "canceled_by_condition",
        "canceled_by_exception",
        "canceled_by_operator",
        "paused_by_flow_control",
        "paused_by_exception",
        "approved",
        "rejected",
        "expired",
        "timed_out",
        "recovered",
        "resolved_manually",
        "completed_manually",
    ]


def test_every_stored_workflow_state_says_where_it_may_go() -> None:
    assert set(WORKFLOW_MOVES) == STORED_WORKFLOW_STATES
    assert WorkflowState.PERFORMING not in STORED_WORKFLOW_STATES


def test_every_step_state_says_where_it_may_go() -> None:
    assert set(STEP_MOVES) == set(StepState)


def test_no_move_leads_to_a_state_that_is_not_stored() -> None:
    assert frozenset[WorkflowState]().union(*WORKFLOW_MOVES.values()) <= STORED_WORKFLOW_STATES


def test_nothing_moves_out_of_an_end() -> None:
    ends = {state for state, targets in STEP_MOVES.items() if not targets}

    assert ends == {"completed", "failed", "skipped", "canceled"}
    assert {s for s, targets in WORKFLOW_MOVES.items() if not targets} == ENDED_WORKFLOW_STATES
    assert {"finished", "canceled"} == ENDED_WORKFLOW_STATES


def test_every_state_of_an_execution_is_pending_active_or_an_end() -> None:
    ends = {"completed", "failed", "skipped", "canceled"}

    assert {"scheduled", "in_progress", "suspended", "waiting"} == ACTIVE_STEP_STATES
    assert set(StepState) == ACTIVE_STEP_STATES | ends | {"pending"}


def test_every_active_execution_may_be_canceled() -> None:
    assert all(StepState.CANCELED in STEP_MOVES[state] for state in ACTIVE_STEP_STATES)


def test_only_a_running_execution_completes_or_fails() -> None:
    completing = {s for s, targets in STEP_MOVES.items() if StepState.COMPLETED in targets}
    failing = {s for s, targets in STEP_MOVES.items() if StepState.FAILED in targets}

    assert completing == failing == {"in_progress"}


@pytest.mark.parametrize(
    ("state", "outcome", "expected"),
    [
        (StepState.COMPLETED, Outcome.SUCCESS, True),
        (StepState.COMPLETED, Outcome.REATTEMPTED, False),
        (StepState.COMPLETED, Outcome.RESOLVED_MANUALLY, True),
        (StepState.SKIPPED, Outcome.SKIPPED_BY_EXCEPTION, True),
        (StepState.SKIPPED, Outcome.SKIPPED_BY_OPERATOR, True),
        (StepState.FAILED, Outcome.RECOVERED, False),
        (StepState.CANCELED, Outcome.PAUSED_BY_FLOW_CONTROL, False),
        (StepState.SCHEDULED, None, False),
        (StepState.IN_PROGRESS, None, False),
    ],
)
def test_a_node_is_done_when_it_needs_no_further_attempt(
    state: StepState, outcome: Outcome | None, expected: bool
) -> None:
    assert is_done(state, outcome) is expected
