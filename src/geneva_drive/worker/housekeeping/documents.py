"""Every `heartbeat_interval`: read the triggers of documents, and cancel expired workflows."""

from __future__ import annotations

from datetime import timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.recovery.expired_workflows import cancel_expired
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_BATCH = 100


class Documents:
    """Reads the triggers of documents, and cancels workflows that outlived their timeout."""

    def __init__(self) -> None:
        self._refusals = Refusals("Workflow %s has expired, and cannot be canceled")

    def __call__(self, environment: Environment) -> DutyRound:
        store = environment.store
        environment.triggered_documents.refresh(store)
        now, refused = environment.clock.now(), self._refusals.keys
        expired = store.read_at_once(
            lambda connection: store.workflows.expired(connection, now, _BATCH, refused)
        )
        by_id = {one.id: one for one in expired}
        count = self._refusals.each(
            environment, list(by_id), lambda key: int(cancel_expired(environment, by_id[key]))
        )
        return DutyRound(count, has_more=count > 0 and len(expired) == _BATCH)


def duty(every: timedelta) -> Duty:
    return Duty(name="documents", every=every, do_round=Documents(), max_rounds=10)
