"""Finding parents and children that a crash kept from hearing of each other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits import child, family
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.worker.housekeeping.duty import Duty, Round
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_PORTION = 200


class Families:
    """Wakes nodes whose child has ended; cancels children whose node was canceled."""

    def __init__(self) -> None:
        self._unwakable = Refusals("The node that waits for workflow %s cannot be woken")
        self._lasting = Refusals("Workflow %s is awaited no longer and cannot be canceled")

    def __call__(self, environment: Environment) -> Round:
        store = environment.store
        with store.reading() as connection:
            ended = store.workflows.ended_and_awaited(connection, _PORTION, self._unwakable.keys)
            abandoned = store.workflows.abandoned(connection, _PORTION, self._lasting.keys)
        count = self._wake(environment, ended)
        count += self._lasting.each(
            environment, abandoned, lambda key: family.cancel(environment, [key])
        )
        return Round(count, has_more=count > 0 and _PORTION in (len(ended), len(abandoned)))

    def _wake(self, environment: Environment, ended: Sequence[WorkflowRecord]) -> int:
        by_id = {one.id: one for one in ended}
        return self._unwakable.batch(
            environment,
            lambda: _wake_parents(environment, ended),
            lambda: self._unwakable.each(
                environment, list(by_id), lambda key: _wake_parents(environment, [by_id[key]])
            ),
        )


def _wake_parents(environment: Environment, ended: Sequence[WorkflowRecord]) -> int:
    woken = child.wake_parents(environment, ended)
    family.tell(environment, woken)
    return len(woken)


def duty(every: timedelta) -> Duty:
    return Duty(name="families", every=every, do_round=Families())
