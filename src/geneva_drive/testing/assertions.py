"""Assertions whose messages list the workflow's executions."""

from __future__ import annotations

from typing import Any, NoReturn

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.states import StepState, WorkflowState
from geneva_drive.testing.arguments import require_handle


def assert_workflow_state(workflow: WorkflowHandle[Any], state: WorkflowState | str) -> None:
    """Assert the current state of a workflow."""
    require_handle("assert_workflow_state", workflow)
    checks.choice("assert_workflow_state(state=...)", state, tuple(WorkflowState))
    found = workflow.reload().state
    if found != state:
        _fail(f"{workflow.type} {workflow.id} is {found}, not {state}.", workflow)


def assert_step_executed(
    workflow: WorkflowHandle[Any], step: object, state: StepState | str = StepState.COMPLETED
) -> None:
    """Assert that the latest execution of a step ended in a state."""
    require_handle("assert_step_executed", workflow)
    checks.choice("assert_step_executed(state=...)", state, tuple(StepState))
    name = workflow.name_of(step)
    attempts = [e for e in workflow.step_executions if e.step_name == name]
    if not attempts:
        _fail(f"Step {name!r} was never scheduled.", workflow)
    found = attempts[-1].state
    if found != state:
        _fail(f"Step {name!r} is {found}, not {state}.", workflow)


def assert_cursor(workflow: WorkflowHandle[Any], expected: object) -> None:
    """Assert the cursor of the running resumable step, or else of the last one."""
    require_handle("assert_cursor", workflow)
    execution = _loop_execution(workflow)
    found = execution.cursor
    if found != expected or type(found) is not type(expected):
        _fail(
            f"Step {execution.step_name!r} is at cursor {shown(found)}, not {shown(expected)}.",
            workflow,
        )


def assert_iterations(workflow: WorkflowHandle[Any], expected: int) -> None:
    """Assert how many items the current or last resumable step has done over all its runs."""
    require_handle("assert_iterations", workflow)
    checks.whole_number("assert_iterations(expected=...)", expected, at_least=0)
    execution = _loop_execution(workflow)
    found = execution.completed_iterations
    if found != expected:
        _fail(f"Step {execution.step_name!r} has done {found} items, not {expected}.", workflow)


def _loop_execution(workflow: WorkflowHandle[Any]) -> StepExecution:
    """Return the active execution, or else the last one of a resumable step."""
    active = workflow.reload().current_execution
    if active is not None and active.state is not StepState.SCHEDULED:
        return active
    iterated = [e for e in workflow.step_executions if e.progress is not None]
    if not iterated:
        _fail(f"No step of {workflow.type} {workflow.id} has iterated.", workflow)
    return iterated[-1]


def _fail(what: str, workflow: WorkflowHandle[Any]) -> NoReturn:
    # Not an assert statement, to which pytest would add its own comparison.
    raise AssertionError(f"{what}\n{_history(workflow)}")


def _history(workflow: WorkflowHandle[Any]) -> str:
    lines = [
        f"  {execution!r} {execution.error_message or ''}" for execution in workflow.step_executions
    ]
    return "\n".join(["Its executions:", *lines] if lines else ["It has no executions."])
