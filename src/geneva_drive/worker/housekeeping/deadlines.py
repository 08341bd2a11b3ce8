"""Deadlines of approvals: expire or escalate the requests that were not decided in time."""

from __future__ import annotations

from collections.abc import Set

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits import deadlines
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.housekeeping.duty import Round
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_BATCH = 200


class Deadlines:
    """Acts on requests past their deadline, a batch at a time."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._refusals = Refusals("The deadline of approval %s cannot be recorded")

    @property
    def refused(self) -> Set[Key]:
        return self._refusals.keys

    def pass_due(self) -> Round:
        environment = self._environment
        now = environment.clock.now()
        due = dict(deadlines.due(environment, now, _BATCH, self._refusals.keys))
        if not due:
            return Round(0, has_more=False)
        changed = self._refusals.batch(
            environment,
            lambda: deadlines.pass_deadlines(environment, list(due.items())),
            lambda: self._refusals.each(
                environment,
                list(due),
                lambda key: deadlines.pass_deadlines(environment, [(key, due[key])]),
            ),
        )
        return Round(changed, has_more=changed > 0)
