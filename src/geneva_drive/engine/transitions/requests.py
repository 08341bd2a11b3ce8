"""Carry out, when a step ends, the pause or cancel that was requested while it ran.

The commands `pause` and `cancel` store the request; see `engine/commands`.
"""

from __future__ import annotations

from dataclasses import replace

from geneva_drive.engine.transitions.change import Change, WorkflowMove
from geneva_drive.engine.transitions.holds import cancel_moves, cancel_planned, hold_change
from geneva_drive.states import Outcome, Request, WorkflowState


def honour_request(change: Change) -> Change:
    """Return the change with the workflow's pending pause or cancel carried out."""
    requested = change.record.requested
    moved = change.workflow
    if requested is None or moved.state in (WorkflowState.FINISHED, WorkflowState.CANCELED):
        return change
    if requested is Request.CANCEL:
        return _cancel(change)
    if moved.state is WorkflowState.PAUSED:
        return change
    return _pause(change)


def _pause(change: Change) -> Change:
    paused = replace(
        change.workflow,
        state=WorkflowState.PAUSED,
        requested=None,
        requested_reason=None,
        paused_reason=change.record.requested_reason,
        paused_step_name=change.workflow.next_step_name,
    )
    return hold_change(change, paused)


def _cancel(change: Change) -> Change:
    return replace(
        change,
        workflow=WorkflowMove(
            state=WorkflowState.CANCELED,
            next_step_name=None,
            previous_step_name=change.workflow.previous_step_name,
        ),
        executions=cancel_moves(change.executions, Outcome.CANCELED_BY_OPERATOR),
        schedule=cancel_planned(change.schedule),
    )
