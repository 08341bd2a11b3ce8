"""Admission to limits: an execution gets all its slots, or is parked until there is one.

Lock order: limits by key, then workflows, then executions. Slots are taken, freed and counted only
under the lock of the limit's row, so that no wake-up is lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.commit import commit
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.limits.capacity import Room, measure
from geneva_drive.engine.limits.slots import WantedSlot
from geneva_drive.engine.transitions.outcome import Parked
from geneva_drive.limit import Limit
from geneva_drive.storage.schema.records import LimitRecord
from geneva_drive.storage.store import Store

_MAX_PARKED = 1000  # executions at the head of the queue that are parked together


@dataclass(frozen=True, slots=True)
class SlotRefused:
    """A limit had no slot, so the execution was parked.

    The caller checks the limit once more. A slot may have become free between the count and the
    commit that parked the execution, when the worker that freed it saw no execution wait.
    """

    by: WantedSlot
    applied: Applied | None  # None: the claim was lost


@dataclass(frozen=True, slots=True)
class _MissingLimits:
    """Limits without a row yet."""

    keys: Sequence[str]


def admit(
    environment: Environment, claimed: Claimed, wanted: Sequence[WantedSlot]
) -> SlotRefused | None:
    """Take a slot of each of an execution's limits; return None if it may run.

    One transaction takes all the slots, or parks the execution and takes none.
    """
    store = environment.store
    while True:
        answer = store.write(
            lambda connection: _try_to_admit(connection, environment, claimed, wanted)
        )
        if not isinstance(answer, _MissingLimits):
            return answer
        for key in answer.keys:
            _create(store, key)


def _create(store: Store, key: str) -> None:
    """Insert a limit's row, in a transaction without other locks; another worker may be first."""
    with contextlib.suppress(IntegrityError):
        store.write(lambda connection: store.limits.insert(connection, key))


def _try_to_admit(
    connection: Connection, environment: Environment, claimed: Claimed, wanted: Sequence[WantedSlot]
) -> SlotRefused | _MissingLimits | None:
    store = environment.store
    records = store.limits.lock(connection, [one.key for one in wanted])
    missing = [one.key for one in wanted if one.key not in records]
    if missing:
        return _MissingLimits(missing)
    now = environment.clock.now()  # after the wait for the locks, which may have taken a while
    for one in wanted:
        room = measure(connection, store, records[one.key], one.limit, now, most=1)
        if not room.free:
            applied = _park(connection, environment, claimed, one.key)
            _note_waiting(connection, store, one, room)
            return SlotRefused(one, applied)
    for one in wanted:
        _take(connection, store, records[one.key], one.limit, claimed, now)
    if claimed.execution.limit_key is not None:
        store.parked_executions.admit(connection, claimed.execution.id, claimed.claim_token)
    return None


def _take(
    connection: Connection,
    store: Store,
    record: LimitRecord,
    limit: Limit,
    claimed: Claimed,
    now: datetime,
) -> None:
    key, number, window = record.limit_key, record.last_number + 1, limit.window
    store.limits.take(
        connection,
        key,
        number,
        execution_id=claimed.execution.id,
        # Rate-only limits never count running executions, so they store no token.
        claim_token=None if limit.concurrency is None else claimed.claim_token,
        started_at=now,
    )
    bounds = store.limits.bounds(limit)
    store.limits.change(connection, key, **bounds, last_number=number, used_at=now)
    if window is not None or bounds != store.limits.bounds(record.limit):
        counted = 0 if window is None else window.count
        store.limits.forget_starts(connection, key, up_to=number - counted)


def _park(
    connection: Connection, environment: Environment, claimed: Claimed, key: str
) -> Applied | None:
    ending = EndedRun(
        workflow_id=claimed.workflow.id,
        execution_id=claimed.execution.id,
        claim_token=claimed.claim_token,
        definition=claimed.definition,
        outcome=Parked(key),
    )
    [applied] = commit.apply(
        connection,
        environment.store,
        [ending],
        environment.clock,
        read_back=environment.events.wanted,
    )
    return applied


def _note_waiting(connection: Connection, store: Store, one: WantedSlot, room: Room) -> None:
    if one.alike is not None:
        # Each would be claimed only to be parked, while other executions wait.
        store.parked_executions.park_alike(connection, one.key, one.alike, _MAX_PARKED)
    bounds = store.limits.bounds(one.limit)
    store.limits.change(connection, one.key, **bounds, wakes_at=room.more_at)
