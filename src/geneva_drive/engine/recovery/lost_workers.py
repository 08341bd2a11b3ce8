"""Recover the executions of lost workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.engine.transitions.outcome import Lost
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkerRecord

_BATCH = 200


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """One claim of an execution; a later claim of the same execution is a different one."""

    execution_id: Key
    token: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The result of recovering a batch."""

    count: int
    has_more: bool
    skipped: frozenset[HeldClaim]  # their recovery could not be written
    locked: frozenset[HeldClaim]  # their workflow is locked; tried again after all others


def recover(
    environment: Environment,
    skipped: frozenset[HeldClaim] = frozenset(),
    locked: frozenset[HeldClaim] = frozenset(),
) -> Recovered:
    """Reschedule a batch of executions whose workers are silent past the lease.

    A claim that could not be recovered is skipped the next time: it would fail again, and block
    the rows after it.
    """
    store, settings = environment.store, environment.settings
    limit = _BATCH + len(skipped) + len(locked)

    def read(connection: Connection) -> tuple[list[WorkerRecord], Sequence[ExecutionRecord]]:
        workers = store.workers.all(connection, settings.lease)
        living = [worker.id for worker in workers if worker.is_alive]
        return workers, store.executions.held_by_none_of(connection, living, limit)

    workers, found = store.read_at_once(read)
    lost = _without_newcomers(environment, found)
    free = [record for record in lost if _claim_of(record) not in skipped | locked]
    wanted = _unlocked(environment, free)
    locked |= {_claim_of(record) for record in free} - {_claim_of(record) for record in wanted}
    names = {worker.id: worker.name for worker in workers}
    endings = [
        _lost_run(
            record,
            f"Worker {names.get(record.worker_id or '', record.worker_id)} was lost.",
            settings.max_recoveries,
        )
        for record in wanted
    ]
    applied = commit_endings(environment, endings) if endings else []
    has_more = len(found) == limit
    if not has_more:
        # These workers hold no claims now, so their rows are no longer needed.
        _forget(environment, [worker for worker in workers if not worker.heard_within_lease])
    still_there = {_claim_of(record) for record in lost} & skipped
    unrecovered = {
        _claim_of(record) for record, one in zip(wanted, applied, strict=True) if one is None
    }
    return Recovered(
        count=_count(applied),
        has_more=has_more,
        skipped=(skipped if has_more else frozenset(still_there)) | unrecovered,
        locked=locked if has_more else frozenset(),
    )


def _without_newcomers(
    environment: Environment, held: Sequence[ExecutionRecord]
) -> Sequence[ExecutionRecord]:
    """Leave out executions of workers that registered after the workers were read."""
    if not held:
        return held
    store, lease = environment.store, environment.settings.lease
    with store.reading() as connection:
        living = {worker.id for worker in store.workers.all(connection, lease) if worker.is_alive}
    return [record for record in held if record.worker_id not in living]


def _unlocked(
    environment: Environment, records: Sequence[ExecutionRecord]
) -> Sequence[ExecutionRecord]:
    """Return the executions whose workflow is not locked.

    A worker may have frozen during its commit. Until the server drops its connection, a recovery
    that waited for that lock would recover nothing else.
    """
    if not records:
        return records
    store = environment.store
    ids = {record.workflow_id for record in records}
    free = store.write(lambda connection: store.workflows.unlocked(connection, ids))
    return [record for record in records if record.workflow_id in free]


def release(
    environment: Environment, held: Sequence[ExecutionRecord], why: str, *, counted: bool
) -> int:
    """Release claims of this process that none of its threads runs; return how many."""
    limit = environment.settings.max_recoveries if counted else None
    endings = [_lost_run(record, why, limit) for record in held]
    return _count(commit_endings(environment, endings)) if endings else 0


def _claim_of(record: ExecutionRecord) -> HeldClaim:
    return HeldClaim(record.id, record.claim_token)


def _lost_run(record: ExecutionRecord, why: str, limit: int | None) -> EndedRun:
    return EndedRun(
        workflow_id=record.workflow_id,
        execution_id=record.id,
        claim_token=record.claim_token or "",
        definition=registry.definition_for(record.type),
        outcome=Lost(why, limit),
    )


def _count(applied: Sequence[Applied | None]) -> int:
    return sum(one is not None for one in applied)


def _forget(environment: Environment, silent: list[WorkerRecord]) -> None:
    """Delete workers whose claims were recovered, unless one was heard again meanwhile."""
    if not silent:
        return
    store = environment.store
    ids = [worker.id for worker in silent]
    last_heard = max(worker.heartbeat_at for worker in silent)
    store.write(lambda connection: store.workers.bury(connection, ids, last_heard))
