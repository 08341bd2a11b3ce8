"""Claim executions that are due: one statement for as many as there are free slots."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from geneva_drive.engine.claimed_execution import Claimed, with_documents, with_stored_nodes
from geneva_drive.engine.commit import telemetry_events
from geneva_drive.engine.commit.rows import claim_values
from geneva_drive.engine.environment import Environment
from geneva_drive.storage.dialects.claim_request import ClaimRequest
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.worker.identity import Identity, new_token


def claim_due(
    environment: Environment,
    identity: Identity,
    limit: int,
    token: str | None = None,
    *,
    rooms: Mapping[str, int] | None = None,
    named: Key | None = None,
) -> list[Claimed]:
    """Claim up to `limit` executions of the classes and queues that this worker serves.

    `rooms` caps how many to claim from some of its queues. `named` is the id of an execution that
    is probably the only one due.
    """
    types, queues = identity.served_types(), _rooms(identity, rooms or {}, limit)
    if not types or limit < 1 or queues == {}:
        return []
    store = environment.store
    request = ClaimRequest(
        worker_id=identity.id,
        claim_token=token or new_token(),
        types=types,
        queues=queues,
        limit=limit,
        now=environment.clock.now(),
        named=named,
    )
    taken = store.write_at_once(
        lambda connection: store.database.dialect.claim(connection, store.tables, request)
    )
    claimed = [_claimed(*one, request.claim_token) for one in taken]
    return _whole(environment, claimed)


def _rooms(identity: Identity, rooms: Mapping[str, int], limit: int) -> dict[str, int] | None:
    """Return how many to claim from each queue with room; None means all queues, uncapped."""
    queues = identity.served_queues()
    if queues is None:
        return None
    wanted = {name: min(limit, rooms.get(name, limit)) for name in queues}
    return {name: room for name, room in wanted.items() if room > 0}


def claim_one(environment: Environment, identity: Identity, execution_id: Key) -> Claimed | None:
    """Claim one execution, due or not; None if it is held, claimed or over."""
    store, now, token = environment.store, environment.clock.now(), new_token()

    def take(connection: Connection) -> list[Claimed]:
        values = claim_values(identity.id, token, now)
        execution = store.executions.claim_one(connection, execution_id, values)
        if execution is None:
            return []
        workflows = store.workflows.get_many(connection, [execution.workflow_id])
        return [_claimed(execution, workflows[execution.workflow_id], token)]

    claimed = _whole(environment, store.write(take))
    return claimed[0] if claimed else None


def _claimed(execution: ExecutionRecord, workflow: WorkflowRecord, token: str) -> Claimed:
    return Claimed(workflow=workflow, execution=execution, claim_token=token)


def _whole(environment: Environment, claimed: list[Claimed]) -> list[Claimed]:
    """Return the claims with the stored nodes and documents that their executions need."""
    announced = _announced(environment, claimed)
    return with_documents(environment, with_stored_nodes(environment, announced))


def _announced(environment: Environment, claimed: list[Claimed]) -> list[Claimed]:
    if claimed and environment.events.wanted:
        now = environment.clock.now()
        environment.events.emit(
            telemetry_events.claimed(one.workflow, one.execution, now) for one in claimed
        )
    return claimed
