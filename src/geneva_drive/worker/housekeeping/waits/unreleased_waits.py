"""Every `heartbeat_interval`: release and cancel the waits that a crash left behind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.wait_kinds import ChildWait
from geneva_drive.engine.waits import wait
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.statements.workflows import Workflows
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_BATCH = 200


class UnreleasedWaits:
    """Releases nodes whose child has ended; cancels children whose node was canceled."""

    def __init__(self) -> None:
        self._unreleasable = Refusals("The node that waits for workflow %s cannot be released")
        self._uncancelable = Refusals(
            "No node waits for workflow %s any more, and it cannot be canceled"
        )

    def __call__(self, environment: Environment) -> DutyRound:
        ended, abandoned = environment.store.read_at_once(
            lambda connection: self._find(environment.store.workflows, connection)
        )
        count = self._release(environment, ended)
        count += self._uncancelable.each(
            environment, abandoned, lambda key: wait.cancel(environment, [ChildWait(key)])
        )
        return DutyRound(count, has_more=count > 0 and _BATCH in (len(ended), len(abandoned)))

    def _find(
        self, workflows: Workflows, connection: Connection
    ) -> tuple[Sequence[WorkflowRecord], Sequence[Key]]:
        return (
            workflows.ended_and_awaited(connection, _BATCH, self._unreleasable.keys),
            workflows.abandoned(connection, _BATCH, self._uncancelable.keys),
        )

    def _release(self, environment: Environment, ended: Sequence[WorkflowRecord]) -> int:
        by_id = {one.id: one for one in ended}
        return self._unreleasable.batch(
            environment,
            lambda: wait.release(environment, _parents_of(ended)),
            lambda: self._unreleasable.each(
                environment,
                list(by_id),
                lambda key: wait.release(environment, _parents_of([by_id[key]])),
            ),
        )


def _parents_of(children: Sequence[WorkflowRecord]) -> list[Key]:
    ids = (one.parent_execution_id for one in children)
    return [key for key in ids if key is not None]


def duty(every: timedelta) -> Duty:
    return Duty(name="waits", every=every, do_round=UnreleasedWaits())
