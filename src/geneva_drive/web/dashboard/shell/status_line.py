"""How a workflow stands, in one line of a list."""

from __future__ import annotations

from typing import Any

from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.states import Need


def is_held_by_hand(workflow: WorkflowHandle[Any]) -> bool:
    """True if an operator paused it, and nothing has to be repaired."""
    if workflow.needs is not Need.OPERATOR:
        return False
    step = workflow.paused_step_name
    # A pause keeps the execution of the step; a failure ends it.
    return step is None or any(one.step_name == step for one in workflow.current_executions)


def in_one_line(workflow: WorkflowHandle[Any]) -> str:
    """Return the sentence of `why()`; of a paused workflow only what a line has room for."""
    if workflow.needs is not Need.OPERATOR:
        return workflow.why()
    reason = (workflow.paused_reason or "").replace("builtins.", "")
    if not is_held_by_hand(workflow):
        return f"Step '{workflow.paused_step_name}' failed: {reason}" if reason else workflow.why()
    since = (
        "" if workflow.paused_at is None else f" since {workflow.paused_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    return f"Held by hand{since}: “{reason}”" if reason else f"Held by hand{since}."
