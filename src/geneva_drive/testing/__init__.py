"""For users' tests and ours: run workflows now, move the clock, and look at what came of it."""

from __future__ import annotations

from geneva_drive.testing.assertions import (
    assert_cursor,
    assert_iterations,
    assert_step_executed,
    assert_workflow_state,
)
from geneva_drive.testing.crash import crash_after
from geneva_drive.testing.runner import (
    drain,
    instance,
    perform_next_step,
    perform_step_inline,
    run_iterations,
    speedrun,
    speedrun_resumable_step,
)
from geneva_drive.testing.time_travel import expire_leases, time_travel

__all__ = [
    "assert_cursor",
    "assert_iterations",
    "assert_step_executed",
    "assert_workflow_state",
    "crash_after",
    "drain",
    "expire_leases",
    "instance",
    "perform_next_step",
    "perform_step_inline",
    "run_iterations",
    "speedrun",
    "speedrun_resumable_step",
    "time_travel",
]
