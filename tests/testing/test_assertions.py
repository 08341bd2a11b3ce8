"""Assertions about workflows, which tell the whole story when they fail."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import assert_step_executed, assert_workflow_state, speedrun


class Delivery(gd.Workflow[Any]):
    type_name = "test_assertions.Delivery"

    @gd.step
    def pack(self) -> None:
        raise ValueError("torn")

    @gd.step
    def ship(self) -> None: ...


def test_a_state_that_is_as_asserted_passes(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    gd.Workflow.find(workflow.id).cancel()

    assert_workflow_state(workflow, "canceled")
    assert_workflow_state(workflow, gd.WorkflowState.CANCELED)


def test_another_state_fails_with_the_history(geneva: gd.Drive) -> None:
    workflow = speedrun(Delivery.create())
    execution = workflow.step_executions[0].id

    with pytest.raises(AssertionError) as failure:
        assert_workflow_state(workflow, "finished")

    assert str(failure.value) == (
        f"test_assertions.Delivery {workflow.id} is paused, not finished.\n"
        f"Its executions:\n"
        f"  <StepExecution {execution} 'pack' attempt 1: failed (paused_by_exception)> torn"
    )


@pytest.mark.parametrize("step", ["pack", Delivery.pack], ids=["by name", "by method"])
def test_a_step_that_was_executed_as_asserted_passes(geneva: gd.Drive, step: Any) -> None:
    workflow = speedrun(Delivery.create())

    assert_step_executed(workflow, step, state="failed")


def test_a_step_in_another_state_fails_with_the_history(geneva: gd.Drive) -> None:
    workflow = speedrun(Delivery.create())
    execution = workflow.step_executions[0].id

    with pytest.raises(AssertionError) as failure:
        assert_step_executed(workflow, Delivery.pack)

    assert str(failure.value) == (
        f"Step 'pack' is failed, not completed.\n"
        f"Its executions:\n"
        f"  <StepExecution {execution} 'pack' attempt 1: failed (paused_by_exception)> torn"
    )


def test_a_step_that_was_never_scheduled_fails_with_the_history(geneva: gd.Drive) -> None:
    class Nothing(gd.Workflow): ...

    with pytest.raises(AssertionError) as failure:
        assert_step_executed(Nothing.create(), "ship")

    assert str(failure.value) == "Step 'ship' was never scheduled.\nIt has no executions."


def test_the_latest_attempt_of_a_step_counts(geneva: gd.Drive) -> None:
    workflow = speedrun(Delivery.create())
    workflow.skip()

    assert_step_executed(workflow, "pack", state="skipped")
