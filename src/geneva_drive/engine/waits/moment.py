"""Waits for a moment, which the node computes when it is reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geneva_drive import checks
from geneva_drive.definition.workflow import Workflow
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.outcome import Awaiting
from geneva_drive.engine.transitions.wait_kinds import MomentWait, wait_of
from geneva_drive.storage.schema.records import ExecutionRecord


def plan(
    environment: Environment,
    execution: ExecutionRecord,
    until: Callable[[Any], object],
    instance: Workflow[Any, Any],
) -> Awaiting | None:
    """Return the wait for the node's moment; None if the body may run."""
    # Timers run the node at its moment; a test or an operator may run it earlier.
    if isinstance(wait_of(execution), MomentWait):
        return None
    moment = checks.moment("What until returned", until(instance))
    return Awaiting(MomentWait(moment)) if moment > environment.clock.now() else None
