"""Every `resume_worker_interval`: report workflows that were paused for too long."""

from __future__ import annotations

from datetime import timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.recovery.long_pauses import report_pauses
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_BATCH = 200


class LongPauses:
    """Makes a dead letter of each workflow that was paused for longer than the timeout."""

    def __init__(self, timeout: timedelta) -> None:
        self._timeout = timeout
        self._refusals = Refusals("The long pause of workflow %s cannot be reported")

    def __call__(self, environment: Environment) -> DutyRound:
        store, before = environment.store, environment.clock.now() - self._timeout
        with store.reading() as connection:
            found = store.dead_letters.long_paused(
                connection, before, _BATCH, passed_over=self._refusals.keys
            )
        count = self._refusals.batch(
            environment,
            lambda: report_pauses(environment, found, before),
            lambda: self._refusals.each(
                environment, found, lambda key: report_pauses(environment, [key], before)
            ),
        )
        return DutyRound(count, has_more=count > 0 and len(found) == _BATCH)


def duty(every: timedelta, timeout: timedelta) -> Duty:
    return Duty(name="long pauses", every=every, do_round=LongPauses(timeout))
