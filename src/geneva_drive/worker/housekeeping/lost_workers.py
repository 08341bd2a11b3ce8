"""Taking back what workers hold that are gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.recovery import lost_workers
from geneva_drive.engine.recovery.lost_workers import Claim
from geneva_drive.worker.housekeeping.duty import Duty, Round


class DeadWorkers:
    """Takes back a batch in each round, past what cannot be taken back at all."""

    def __init__(self, may_judge: Callable[[], bool]) -> None:
        self._may_judge = may_judge
        self._passed_over: frozenset[Claim] = frozenset()
        self._locked: frozenset[Claim] = frozenset()

    def __call__(self, environment: Environment) -> Round:
        if not self._may_judge():
            return Round(0, has_more=False)
        taken = lost_workers.take_back(environment, self._passed_over, self._locked)
        self._passed_over, self._locked = taken.passed_over, taken.locked
        return Round(taken.count, taken.has_more)


def duty(every: timedelta, may_judge: Callable[[], bool]) -> Duty:
    # After a machine was lost there may be thousands, which nobody else runs meanwhile.
    return Duty(name="recovery", every=every, do_round=DeadWorkers(may_judge), rounds_at_once=10)
