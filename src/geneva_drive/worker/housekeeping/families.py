"""Finding parents and children that a crash kept from hearing of each other."""

from __future__ import annotations

from datetime import timedelta

from geneva_drive.engine import children, family
from geneva_drive.engine.environment import Environment
from geneva_drive.worker.housekeeping.duty import Duty, Round

_PORTION = 200


def reunite(environment: Environment) -> Round:
    """Wake nodes whose child has ended; cancel children whose node was canceled."""
    store = environment.store
    with store.reading() as connection:
        ended = store.workflows.ended_and_awaited(connection, _PORTION)
        abandoned = store.workflows.abandoned(connection, _PORTION)
    woken = children.wake_parents(environment, ended)
    family.tell(environment, woken)
    count = len(woken) + family.cancel(environment, abandoned)
    return Round(count, has_more=count > 0 and _PORTION in (len(ended), len(abandoned)))


def duty(every: timedelta) -> Duty:
    return Duty(name="families", every=every, do_round=reunite)
