"""The status of a workflow, in one line of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.explanation.explanation import explain_many
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.states import Need


def is_held_by_hand(workflow: WorkflowHandle[Any]) -> bool:
    """True if an operator paused it, and nothing has to be repaired."""
    if workflow.needs is not Need.OPERATOR:
        return False
    step = workflow.paused_step_name
    # A pause keeps the execution of the step; a failure ends it.
    return step is None or any(one.step_name == step for one in workflow.current_executions)


def lines_of(drive: Drive, workflows: Sequence[WorkflowHandle[Any]]) -> list[str]:
    """Return the sentences of `why()` for the workflows of a page, with shared queries.

    For a paused workflow, the line has room only for the reason.
    """
    short = [_paused_line(one) for one in workflows]
    others = [one.standing for one, line in zip(workflows, short, strict=True) if line is None]
    sentences = iter(explain_many(drive, others))
    return [next(sentences) if line is None else line for line in short]


def _paused_line(workflow: WorkflowHandle[Any]) -> str | None:
    """Return the line of a paused workflow; None if the sentence of `why()` is shown."""
    if workflow.needs is not Need.OPERATOR:
        return None
    reason = (workflow.paused_reason or "").replace("builtins.", "")
    if not is_held_by_hand(workflow):
        return f"Step '{workflow.paused_step_name}' failed: {reason}" if reason else None
    since = (
        "" if workflow.paused_at is None else f" since {workflow.paused_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    return f"Held by hand{since}: “{reason}”" if reason else f"Held by hand{since}."
