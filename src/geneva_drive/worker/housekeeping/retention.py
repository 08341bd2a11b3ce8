"""Every `heartbeat_interval`: delete workflows that ended longer ago than `retention`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.limits import waiters
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound, finish
from geneva_drive.worker.housekeeping.refused_rows import Refusals

logger = logging.getLogger(__name__)

_BATCH = 200
_MAX_REFUSALS = 1000


class Retention:
    """Deletes a batch in each round, and skips workflows that cannot be deleted."""

    def __init__(self) -> None:
        self._refusals = Refusals(
            "Workflow %s ended long ago and cannot be deleted (does a row of yours refer to it?)"
        )

    def delete_before(self, environment: Environment, before: datetime) -> DutyRound:
        if len(self._refusals.keys) >= _MAX_REFUSALS:
            return DutyRound(0, has_more=False)
        return self._refusals.batch(
            environment,
            lambda: self._delete_at_once(environment, before),
            lambda: self._delete_each(environment, before),
        )

    def _delete_at_once(self, environment: Environment, before: datetime) -> DutyRound:
        store, refused = environment.store, self._refusals.keys
        deleted = store.write(
            lambda connection: store.workflows.delete_ended(
                connection, before, _BATCH, passing_over=refused
            )
        )
        # By-products are not counted: unused limits (of single accounts, say), runs of schedules,
        # audit entries without a workflow.
        forgotten = waiters.forget_unused(environment, before, _BATCH)
        runs = _delete_runs(environment, before)
        acts = store.write(lambda c: store.audit_entries.delete_acts(c, before, _BATCH))
        return DutyRound(deleted, has_more=_BATCH in (deleted, forgotten, runs, acts))

    def _delete_each(self, environment: Environment, before: datetime) -> DutyRound:
        store, refused = environment.store, self._refusals.keys
        with store.reading() as connection:
            ids = store.workflows.ended(connection, before, _BATCH, passing_over=refused)
        known = len(refused)

        def delete(workflow_id: Key) -> int:
            return store.write(lambda c: store.workflows.delete(c, workflow_id))

        deleted = self._refusals.each(environment, ids, delete)
        if len(refused) >= _MAX_REFUSALS:
            logger.error(
                "%s ended workflows cannot be deleted; this worker deletes none until it is "
                "restarted. Add ON DELETE CASCADE or SET NULL to the foreign keys of your tables.",
                len(refused),
            )
        return DutyRound(deleted, has_more=deleted > 0 or len(refused) > known)


def _delete_runs(environment: Environment, before: datetime) -> int:
    """Delete a batch of old runs of schedules; write nothing if there are none."""
    store = environment.store
    old = store.read(lambda connection: store.schedule_runs.old(connection, before, _BATCH))
    return store.write(lambda connection: store.schedule_runs.delete(connection, old)) if old else 0


def prune(
    environment: Environment, span: timedelta, progress: Callable[[int], None] | None = None
) -> int:
    """Delete workflows that ended longer ago than `span`; `progress` gets the count per batch."""
    retention, before = Retention(), environment.clock.now() - span

    def do_round() -> DutyRound:
        done = retention.delete_before(environment, before)
        if progress is not None and done.changed:
            progress(done.changed)
        return done

    return finish(do_round)


def duty(every: timedelta, span: timedelta) -> Duty:
    retention = Retention()
    return Duty(
        name="retention",
        every=every,
        do_round=lambda environment: retention.delete_before(
            environment, environment.clock.now() - span
        ),
        # Up to 10,000 workflows each time: a busy worker ends about a thousand each second.
        max_rounds=50,
    )
