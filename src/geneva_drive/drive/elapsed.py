"""How long an attempt took."""

from __future__ import annotations

from datetime import datetime

from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.durations import describe
from geneva_drive.states import StepState


def took(attempt: StepExecution | NodeView, now: datetime | None = None) -> str:
    """Return how long an attempt took; for a running one the time until `now`, if it is given."""
    until = now if attempt.state is StepState.IN_PROGRESS else attempt.finished_at
    return describe(until - attempt.started_at) if attempt.started_at and until else ""
