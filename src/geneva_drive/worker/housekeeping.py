"""Duties that every worker does and none leads: waking sleepers, taking back lost executions."""

from __future__ import annotations

from collections.abc import Sequence

from geneva_drive.engine import recovery, unparking
from geneva_drive.engine.environment import Environment

_BATCH = 1000


def wake_due(environment: Environment, queues: Sequence[str] | None = None) -> int:
    """Make executions claimable whose time or turn has come, in batches; count them."""
    store, now = environment.store, environment.clock.now()
    total = 0
    while True:
        woken = store.write(lambda connection: store.executions.wake(connection, now, _BATCH))
        total += woken
        if woken < _BATCH:
            return total + unparking.wake_due(environment, queues)


def housekeep(environment: Environment) -> int:
    """Do every duty once; count what was changed. Safe on many workers at the same time."""
    return wake_due(environment) + recovery.take_back(environment)
