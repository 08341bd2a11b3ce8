"""Taking executions back from workers that are gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geneva_drive.definition import registry
from geneva_drive.engine.commit.ending import Applied, Ending
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.engine.transitions.outcome import Lost
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkerRecord

_BATCH = 200


@dataclass(frozen=True, slots=True)
class Claim:
    """What a worker held: another claim of the same execution is another matter."""

    execution_id: Key
    token: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came of taking back a batch."""

    count: int
    has_more: bool
    passed_over: frozenset[Claim]  # of which nothing can be recorded, so far as is known
    locked: frozenset[Claim]  # left alone until all others were looked at


def take_back(
    environment: Environment,
    passing_over: frozenset[Claim] = frozenset(),
    locked: frozenset[Claim] = frozenset(),
) -> Taken:
    """Schedule again a batch of what workers hold that are silent past the lease.

    What was tried and is still there next time is passed over: it would be refused again, and
    stand in the way of the rows behind it.
    """
    store, settings = environment.store, environment.settings
    with store.reading() as connection:
        workers = store.workers.all(connection, settings.lease)
        living = [worker.id for worker in workers if worker.is_alive]
        limit = _BATCH + len(passing_over) + len(locked)
        found = store.executions.held_by_none_of(connection, living, limit)
    with store.reading() as connection:
        # Once more, in this order: a worker may have signed on and claimed between the two looks.
        newcomers = {w.id for w in store.workers.all(connection, settings.lease) if w.is_alive}
    lost = [record for record in found if record.worker_id not in newcomers]
    free = [record for record in lost if _claim(record) not in passing_over | locked]
    wanted = _unlocked(environment, free)
    locked |= {_claim(record) for record in free} - {_claim(record) for record in wanted}
    names = {worker.id: worker.name for worker in workers}
    endings = [
        _lost(
            record,
            f"Worker {names.get(record.worker_id or '', record.worker_id)} was lost.",
            settings.max_recoveries,
        )
        for record in wanted
    ]
    applied = commit_endings(environment, endings) if endings else []
    has_more = len(found) == limit
    if not has_more:
        # The last of what they held: from now on nobody asks for their names.
        _bury(environment, [worker for worker in workers if not worker.heard_within_lease])
    still_there = {_claim(record) for record in lost} & passing_over
    untaken = {_claim(record) for record, one in zip(wanted, applied, strict=True) if one is None}
    return Taken(
        count=_count(applied),
        has_more=has_more,
        passed_over=(passing_over if has_more else frozenset(still_there)) | untaken,
        locked=locked if has_more else frozenset(),
    )


def _unlocked(
    environment: Environment, records: Sequence[ExecutionRecord]
) -> Sequence[ExecutionRecord]:
    """Leave to a later round what is locked: by a worker, perhaps, that froze as it committed.

    Until the server gives up on such a worker, whoever waits for its lock takes nothing back.
    """
    if not records:
        return records
    store = environment.store
    ids = {record.workflow_id for record in records}
    free = store.write(lambda connection: store.workflows.unlocked(connection, ids))
    return [record for record in records if record.workflow_id in free]


def give_back(
    environment: Environment, held: Sequence[ExecutionRecord], why: str, *, counted: bool
) -> int:
    """Return executions of this process's own, of which it knows that nobody runs them."""
    limit = environment.settings.max_recoveries if counted else None
    endings = [_lost(record, why, limit) for record in held]
    return _count(commit_endings(environment, endings)) if endings else 0


def _claim(record: ExecutionRecord) -> Claim:
    return Claim(record.id, record.claim_token)


def _lost(record: ExecutionRecord, why: str, limit: int | None) -> Ending:
    return Ending(
        workflow_id=record.workflow_id,
        execution_id=record.id,
        claim_token=record.claim_token or "",
        definition=registry.definition_for(record.type),
        outcome=Lost(why, limit),
    )


def _count(applied: Sequence[Applied | None]) -> int:
    return sum(one is not None for one in applied)


def _bury(environment: Environment, silent: list[WorkerRecord]) -> None:
    """Forget workers whose claims were taken; not one that was heard again meanwhile."""
    if not silent:
        return
    store = environment.store
    ids = [worker.id for worker in silent]
    last_heard = max(worker.heartbeat_at for worker in silent)
    store.write(lambda connection: store.workers.bury(connection, ids, last_heard))
