"""Every `heartbeat_interval`: reschedule the executions of workers silent past their lease."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.recovery import lost_workers
from geneva_drive.engine.recovery.lost_workers import HeldClaim
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound


class LostWorkers:
    """Recovers a batch in each round, and skips claims that cannot be recovered.

    `may_judge` returns False after this worker missed its own heartbeat: then the others may be
    lost, or the database was unavailable for all.
    """

    def __init__(self, may_judge: Callable[[], bool]) -> None:
        self._may_judge = may_judge
        self._skipped: frozenset[HeldClaim] = frozenset()
        self._locked: frozenset[HeldClaim] = frozenset()

    def __call__(self, environment: Environment) -> DutyRound:
        if not self._may_judge():
            return DutyRound(0, has_more=False)
        recovered = lost_workers.recover(environment, self._skipped, self._locked)
        self._skipped, self._locked = recovered.skipped, recovered.locked
        return DutyRound(recovered.count, recovered.has_more)


def duty(every: timedelta, may_judge: Callable[[], bool]) -> Duty:
    # A lost machine may leave thousands of executions, which wait until they are recovered.
    return Duty(name="recovery", every=every, do_round=LostWorkers(may_judge), max_rounds=10)
