"""What every worker does for all of them, with no leader.

Timers wake sleepers; the poller does that itself, between its claims. The duties run beside the
heartbeat: taking back what dead workers held, adopting orphans, bringing parents and children
together, deleting what is past its retention. Each may be done by many workers at once, looks at no
more than a batch in a round, and passes over a row that it cannot change.
"""

from __future__ import annotations

from collections.abc import Callable

from geneva_drive.engine.environment import Environment
from geneva_drive.settings import Settings
from geneva_drive.worker.housekeeping import lost_workers, orphans, retention, waits
from geneva_drive.worker.housekeeping.duty import Duty, finish
from geneva_drive.worker.housekeeping.timers import Timers

__all__ = ["Duty", "duties", "housekeep"]


def duties(settings: Settings, may_judge: Callable[[], bool] = lambda: True) -> tuple[Duty, ...]:
    """Make the duties of one worker; `may_judge` says whether it may call others dead."""
    every = settings.heartbeat_interval
    always = (lost_workers.duty(every, may_judge), orphans.duty(every), waits.duty(every))
    if settings.retention is None:
        return always
    return (*always, retention.duty(every, settings.retention))


def housekeep(environment: Environment) -> int:
    """Do every duty once, to its end; count what was changed."""
    woken = finish(Timers(environment).wake_due)
    return woken + sum(duty.finish(environment) for duty in duties(environment.settings))
