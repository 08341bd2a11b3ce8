"""Short ways to bring workflows to their approvals, and to look at requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import drain

Handle = gd.WorkflowHandle[Any]
Decision = gd.ApprovalDecision[Any]

# Classes are registered weakly, and a test may keep no more of its workflow than the request.
_kept: list[type] = []


class StandingClock:
    """Time that a test can spell out: noon, until it is moved."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def advance(self, span: timedelta) -> None:
        self.moment += span


def reach(drive: gd.Drive, workflow_class: type[gd.Workflow[Any]], **given: Any) -> Handle:
    """Create a workflow, and run it until nothing is due."""
    _kept[:] = [workflow_class]
    workflow = workflow_class.create(**given)
    drain(drive)
    return workflow.reload()


def asked(drive: gd.Drive, step_name: str | None = None) -> gd.Approval:
    """Return the one request that is pending, of the step if it is given."""
    found = [one for one in drive.approvals.pending() if step_name in (None, one.step_name)]
    [approval] = found
    return approval


def requests_of(workflow: Handle) -> list[tuple[str, str]]:
    """Return each request of a workflow: its step and its state."""
    found = workflow.drive.approvals.of_workflow(workflow.id)
    return [(one.step_name, one.state) for one in found]


def everything_stored(drive: gd.Drive) -> dict[str, list[Any]]:
    """Return all rows of all tables, by table, to see that nothing has changed.

    The counters of what ended are left out: they follow the clock.
    """
    with drive.store.reading() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(table.select())), key=repr)
            for table in drive.store.tables.metadata.sorted_tables
            if "_activity" not in table.name
        }
