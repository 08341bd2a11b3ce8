"""What a worker does beside its heartbeat: most duties every `heartbeat_interval` (10 seconds)."""

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
    """Return the duties of one worker; `may_judge` tells if it may declare other workers lost."""
    every = settings.heartbeat_interval
    always = (
        lost_workers.duty(every, may_judge),  # reschedule what lost workers held
        orphans.duty(every),  # continue ready workflows without an active execution
        unreleased_waits.duty(every),  # release and cancel waits that a crash left behind
        undelivered_events.duty(every),  # deliver events that a crash left behind, remove old ones
        event_starts.duty(every),  # start workflows that events ask for
        stale_workflows.duty(every),  # report what makes no progress
        activity.duty(every),  # count what ended, for charts
        documents.duty(every),  # learn which documents are triggered, cancel what expired
    )
    chosen = []
    if settings.resume_timeout is not None:  # report what was not resumed in time
        interval = settings.resume_worker_interval
        chosen.append(long_pauses.duty(interval, settings.resume_timeout))
    if settings.retention is not None:  # delete what ended long ago
        chosen.append(retention.duty(every, settings.retention))
    return (*always, *chosen)


def housekeep(environment: Environment) -> int:
    """Wake what is due and do every duty to its end, once; return the number of changes."""
    return finish(Timers(environment).wake_due) + do_duties(environment)


def do_duties(environment: Environment) -> int:
    """Do every duty to its end, once; return the number of changes."""
    return sum(duty.finish(environment) for duty in duties(environment.settings))
