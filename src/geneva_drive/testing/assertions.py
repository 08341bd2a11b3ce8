"""Assertions whose messages tell the whole story of the workflow."""

from __future__ import annotations

from typing import Any, NoReturn

from geneva_drive.drive.handles import WorkflowHandle
from geneva_drive.states import StepState, WorkflowState


def assert_workflow_state(workflow: WorkflowHandle[Any], state: WorkflowState | str) -> None:
    """Assert where a workflow stands now."""
    found = workflow.reload().state
    if found != state:
        _fail(f"{workflow.type} {workflow.id} is {found}, not {state}.", workflow)


def assert_step_executed(
    workflow: WorkflowHandle[Any], step: object, state: StepState | str = StepState.COMPLETED
) -> None:
    """Assert that the latest execution of a step ended in a state."""
    name = workflow.name_of(step)
    attempts = [e for e in workflow.step_executions if e.step_name == name]
    if not attempts:
        _fail(f"Step {name!r} was never scheduled.", workflow)
    found = attempts[-1].state
    if found != state:
        _fail(f"Step {name!r} is {found}, not {state}.", workflow)


def _fail(what: str, workflow: WorkflowHandle[Any]) -> NoReturn:
    # Raised, not asserted: pytest would add its own comparison to an assertion in a plugin.
    raise AssertionError(f"{what}\n{_story(workflow)}")


def _story(workflow: WorkflowHandle[Any]) -> str:
    lines = [
        f"  {execution!r} {execution.error_message or ''}" for execution in workflow.step_executions
    ]
    return "\n".join(["Its executions:", *lines] if lines else ["It has no executions."])
