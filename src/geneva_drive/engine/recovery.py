"""Taking executions back from workers that are gone."""

from __future__ import annotations

from collections.abc import Sequence

from geneva_drive.definition import registry
from geneva_drive.definition.workflow import definition_of
from geneva_drive.engine.commit import Applied, Ending
from geneva_drive.engine.committing import commit_endings
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.outcome import Lost
from geneva_drive.storage.records import ExecutionRecord, WorkerRecord

_BATCH = 200


def take_back(environment: Environment) -> int:
    """Schedule again what workers hold that are silent past the lease; count it."""
    store, settings = environment.store, environment.settings
    with store.reading() as connection:
        workers = store.workers.all(connection, settings.lease)
        living = [worker.id for worker in workers if worker.is_alive]
        held = store.executions.held_by_none_of(connection, living, _BATCH)
    with store.reading() as connection:
        # Once more, in this order: a worker may have signed on and claimed between the two looks.
        newcomers = {w.id for w in store.workers.all(connection, settings.lease) if w.is_alive}
    held = [record for record in held if record.worker_id not in newcomers]
    names = {worker.id: worker.name for worker in workers}
    endings = [
        _lost(
            record,
            f"Worker {names.get(record.worker_id or '', record.worker_id)} was lost.",
            settings.max_recoveries,
        )
        for record in held
    ]
    taken = _count(commit_endings(environment, endings)) if endings else 0
    _bury(environment, [worker for worker in workers if not worker.heard_within_lease])
    return taken


def give_back(
    environment: Environment, held: Sequence[ExecutionRecord], why: str, *, counted: bool
) -> int:
    """Return executions of this process's own, of which it knows that nobody runs them."""
    limit = environment.settings.max_recoveries if counted else None
    endings = [_lost(record, why, limit) for record in held]
    return _count(commit_endings(environment, endings)) if endings else 0


def _lost(record: ExecutionRecord, why: str, limit: int | None) -> Ending:
    workflow_class = registry.get(record.type)
    return Ending(
        workflow_id=record.workflow_id,
        execution_id=record.id,
        claim_token=record.claim_token or "",
        definition=definition_of(workflow_class) if workflow_class else None,
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
