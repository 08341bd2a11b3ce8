"""A worker that runs one execution after another on the calling thread, for tests and scripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from geneva_drive.engine import crash_points
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution import executor
from geneva_drive.engine.execution.body_end import Committed, Concluded
from geneva_drive.engine.execution.group_commit import announce, commit_endings
from geneva_drive.engine.loops.early_stops import EarlyStops
from geneva_drive.engine.transitions.outcome import Lost
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.claims.claimer import claim_due, claim_one
from geneva_drive.worker.housekeeping.duties import do_duties
from geneva_drive.worker.housekeeping.limit_waiters import LimitWaiters
from geneva_drive.worker.housekeeping.timers import Timers
from geneva_drive.worker.identity import Identity, process_name
from geneva_drive.worker.service import Periodic

_NO_EARLY_STOPS = EarlyStops()
_LAST_BEAT = 5.0  # seconds that a heartbeat under way may take


def run_one(
    environment: Environment, execution_id: Key, early_stops: EarlyStops = _NO_EARLY_STOPS
) -> bool:
    """Run one execution now, due or not; False if it cannot be claimed."""
    with _presence(environment) as presence:
        claimed = claim_one(environment, presence.identity, execution_id)
        if claimed is None:
            return False
        presence.keep()
        waiters = LimitWaiters(environment)
        _perform(environment, claimed, waiters, ignores_limits=True, early_stops=early_stops)
        return True


def run_due(environment: Environment) -> int:
    """Run executions until none is due any more; return how many ran."""
    total = 0
    timers = Timers(environment)
    with _presence(environment) as presence:
        while True:
            woken = timers.look()
            claimed = claim_due(environment, presence.identity, limit=1)
            if claimed:
                presence.keep()
                total += _perform(environment, claimed[0], timers.limit_waiters)
            elif not woken and not do_duties(environment):
                return total


def _perform(
    environment: Environment,
    claimed: Claimed,
    waiters: LimitWaiters,
    *,
    ignores_limits: bool = False,
    early_stops: EarlyStops = _NO_EARLY_STOPS,
) -> bool:
    """Run an execution; False if a limit had no slot for it."""
    crash_points.reached("claim")
    run = executor.start(environment, claimed, early_stops)
    performed = executor.execute(
        run, environment, claimed, lambda: None, ignores_limits=ignores_limits
    )
    if isinstance(performed, Committed):
        if performed.applied is not None:
            announce(environment, [performed.applied])
        if performed.has_run:
            crash_points.reached("commit")
    else:
        _commit(environment, claimed, performed)
    waiters.wake_for(executor.freed_limit_keys(run, claimed))
    return not isinstance(performed, Committed) or performed.has_run


def _commit(environment: Environment, claimed: Claimed, performed: Concluded) -> None:
    crash_points.reached("body")
    commit_endings(environment, [claimed.ending(performed.outcome, position=performed.position)])
    crash_points.reached("commit")
    if isinstance(performed.outcome, Lost) and isinstance(
        performed.outcome.interrupt, KeyboardInterrupt
    ):
        raise performed.outcome.interrupt


class _Presence:
    """Registers this thread as a worker, so that no other worker recovers what runs here."""

    def __init__(self, environment: Environment) -> None:
        self.identity = Identity(name=f"{process_name()} (inline)")
        self._environment = environment
        self._heartbeat: Periodic | None = None
        self.identity.register(environment.store, environment.settings.lease)

    def keep(self) -> None:
        """Send heartbeats from now on: user code may run for long."""
        if self._heartbeat is not None:
            return
        store, worker_id = self._environment.store, self.identity.id
        self._heartbeat = Periodic(
            "heartbeat",
            self._environment.settings.heartbeat_interval,
            lambda: store.write(lambda connection: store.workers.beat(connection, worker_id)),
            store.database.trouble_log,
        )
        self._heartbeat.start()

    def end(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop(_LAST_BEAT)
        store, worker_id = self._environment.store, self.identity.id
        store.write_at_once(lambda connection: store.workers.forget(connection, [worker_id]))


@contextmanager
def _presence(environment: Environment) -> Iterator[_Presence]:
    presence = _Presence(environment)
    try:
        yield presence
    finally:
        presence.end()
