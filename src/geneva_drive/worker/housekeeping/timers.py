"""Waking sleepers whose time has come."""

from __future__ import annotations

from geneva_drive.engine.environment import Environment
from geneva_drive.worker.housekeeping.duty import Round

_BATCH = 500


def wake_due(environment: Environment) -> Round:
    """Make a batch of executions claimable whose time has come.

    One batch, as a poller does this: with a million due it must come to claiming in between.
    """
    store, now = environment.store, environment.clock.now()
    woken = store.write(lambda connection: store.executions.wake(connection, now, _BATCH))
    return Round(woken, has_more=woken == _BATCH)
