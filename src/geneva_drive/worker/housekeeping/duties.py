"""The list of a worker's duties, most of them done every `heartbeat_interval` (10 seconds)."""

from __future__ import annotations

from collections.abc import Callable

from geneva_drive.engine.environment import Environment
from geneva_drive.settings import Settings
from geneva_drive.worker.housekeeping import (
    activity,
    documents,
    long_pauses,
    lost_workers,
    orphans,
    retention,
    stale_workflows,
)
from geneva_drive.worker.housekeeping.duty import Duty, finish
from geneva_drive.worker.housekeeping.timers import Timers
from geneva_drive.worker.housekeeping.waits import (
    event_starts,
    undelivered_events,
    unreleased_waits,
)


def duties(settings: Settings, may_judge: Callable[[], bool] = lambda: True) -> tuple[Duty, ...]:
    """Return the duties of one worker; `may_judge`: whether it may declare other workers lost."""
    every = settings.heartbeat_interval
    always = (
        lost_workers.duty(every, may_judge),  # reschedule what lost workers held
        orphans.duty(every),  # continue ready workflows without an active execution
        unreleased_waits.duty(every),  # release and cancel waits that a crash left behind
        undelivered_events.duty(every),  # deliver events that a crash left behind, remove old ones
        event_starts.duty(every),  # start workflows that events trigger, every second
        stale_workflows.duty(every),  # report workflows without progress
        activity.duty(every),  # count ended executions, for charts
        documents.duty(every),  # read the triggers of documents, cancel expired workflows
    )
    chosen = []
    if settings.resume_timeout is not None:  # report workflows that were paused for too long
        interval = settings.resume_worker_interval
        chosen.append(long_pauses.duty(interval, settings.resume_timeout))
    if settings.retention is not None:  # delete workflows that ended long ago
        chosen.append(retention.duty(every, settings.retention))
    return (*always, *chosen)


def housekeep(environment: Environment) -> int:
    """Wake everything due and finish every duty once; return the number of changes."""
    return finish(Timers(environment).wake_due) + do_duties(environment)


def do_duties(environment: Environment) -> int:
    """Finish every duty once; return the number of changes."""
    return sum(duty.finish(environment) for duty in duties(environment.settings))
