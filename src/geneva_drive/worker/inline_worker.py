"""A worker on the calling thread, one execution after the other: for tests and scripts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from geneva_drive.engine import crash_points
from geneva_drive.engine.claimed import Claimed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution import executor
from geneva_drive.engine.execution.group_commit import announce, commit_endings
from geneva_drive.engine.execution.result import Committed, Concluded
from geneva_drive.engine.loops.breaks import Breaks
from geneva_drive.engine.transitions.outcome import Lost
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.claims.claimer import claim_due, claim_one
from geneva_drive.worker.housekeeping.duties import housekeep
from geneva_drive.worker.housekeeping.limit_waiters import LimitWaiters
from geneva_drive.worker.housekeeping.timers import Timers
from geneva_drive.worker.identity import Identity, process_name
from geneva_drive.worker.service import Periodic

_NO_BREAKS = Breaks()
_LAST_BEAT = 5.0  # seconds that a heartbeat under way may take


def run_one(environment: Environment, execution_id: Key, breaks: Breaks = _NO_BREAKS) -> bool:
    """Run one execution now, due or not; False if it cannot be claimed."""
    with _presence(environment) as identity:
        claimed = claim_one(environment, identity, execution_id)
        if claimed is None:
            return False
        waiters = LimitWaiters(environment)
        _perform(environment, claimed, waiters, ignores_limits=True, breaks=breaks)
        return True


def run_due(environment: Environment) -> int:
    """Run everything that is due, and what that makes due; return how many executions ran."""
    total = 0
    timers = Timers(environment)
    with _presence(environment) as identity:
        while True:
            timers.look()
            claimed = claim_due(environment, identity, limit=1)
            if claimed:
                total += _perform(environment, claimed[0], timers.limit_waiters)
            elif not housekeep(environment):
                return total


def _perform(
    environment: Environment,
    claimed: Claimed,
    waiters: LimitWaiters,
    *,
    ignores_limits: bool = False,
    breaks: Breaks = _NO_BREAKS,
) -> bool:
    """Run an execution; False if a limit had no slot for it."""
    crash_points.reached("claim")
    run = executor.start(environment, claimed, breaks)
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
    waiters.wake_for(executor.freed_by(run, claimed))
    return not isinstance(performed, Committed) or performed.has_run


def _commit(environment: Environment, claimed: Claimed, performed: Concluded) -> None:
    crash_points.reached("body")
    commit_endings(environment, [claimed.ending(performed.outcome, position=performed.position)])
    crash_points.reached("commit")
    if isinstance(performed.outcome, Lost) and isinstance(
        performed.outcome.interrupt, KeyboardInterrupt
    ):
        raise performed.outcome.interrupt


@contextmanager
def _presence(environment: Environment) -> Iterator[Identity]:
    """Register as a worker, so that no other worker recovers what runs here."""
    identity = Identity(name=f"{process_name()} (inline)")
    store = environment.store
    identity.register(store, environment.settings.lease)
    heartbeat = Periodic(
        "heartbeat",
        environment.settings.heartbeat_interval,
        lambda: store.write(lambda connection: store.workers.beat(connection, identity.id)),
        store.database.trouble_log,
    )
    heartbeat.start()
    try:
        yield identity
    finally:
        heartbeat.stop(_LAST_BEAT)
        store.write(lambda connection: store.workers.forget(connection, [identity.id]))
