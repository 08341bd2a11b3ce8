"""Every `heartbeat_interval`: report workflows without progress for longer than `stale_after`."""

from __future__ import annotations

from datetime import timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.recovery.stale_workflows import find_suspects, report_stale
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_BATCH = 200


class StaleWorkflows:
    """Makes a dead letter of each, and stops nothing. Without `stale_after`, sends no statement."""

    def __init__(self) -> None:
        self._refusals = Refusals("Workflow %s makes no progress, which cannot be recorded")

    def __call__(self, environment: Environment) -> DutyRound:
        found = find_suspects(environment, _BATCH + len(self._refusals.keys))
        wanted = [key for key in found if key not in self._refusals.keys][:_BATCH]
        count = self._refusals.batch(
            environment,
            lambda: report_stale(environment, [found[key] for key in wanted]),
            lambda: self._refusals.each(
                environment, wanted, lambda key: report_stale(environment, [found[key]])
            ),
        )
        return DutyRound(count, has_more=count > 0 and len(wanted) == _BATCH)


def duty(every: timedelta) -> Duty:
    return Duty(name="stale workflows", every=every, do_round=StaleWorkflows())
