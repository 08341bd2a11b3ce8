"""After a commit, emit telemetry events and wake the workers and callers that wait."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from geneva_drive.engine.commit import telemetry_events
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.environment import Environment
from geneva_drive.states import ENDED_WORKFLOW_STATES


def announce_commit(environment: Environment, applied: Sequence[Applied]) -> None:
    """Emit events for the committed changes, and wake workers once if an execution became due."""
    _emit_progress(environment, applied)
    # Without a subscriber, failed steps are still logged.
    wanted = environment.events.wanted
    emitted = applied if wanted else [one for one in applied if one.has_failure]
    if emitted:
        environment.events.emit(telemetry_events.events_of(emitted, environment.clock.now()))
    if any(one.leaves_something_due for one in applied):
        environment.wakeups.ring()
    if not environment.awaited_ends.is_empty:
        environment.awaited_ends.notify(
            one.workflow.id for one in applied if one.workflow.state in ENDED_WORKFLOW_STATES
        )


def _emit_progress(environment: Environment, applied: Sequence[Applied]) -> None:
    if not environment.events.progress_wanted:
        return
    now = environment.clock.now()
    for workflow, execution, progress in telemetry_events.ended_loops(applied):
        # The commit has cleared the cursor.
        environment.events.emit_progress(
            partial(telemetry_events.progressed, workflow, execution, None, progress, now)
        )
