"""Helpers for tests of workflows.

`runner.py` runs workflows without a worker, `decisions.py` decides their approvals,
`time_travel.py` moves the clock, `crash.py` kills the worker at a chosen point, `assertions.py`
checks the result. `plugin.py` has the pytest fixtures.
"""

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
