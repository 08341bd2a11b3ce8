"""Keeping limits: an execution gets its slots, or is parked until there is one for it.

Lock order: limits by their keys, then workflows, then executions. Whatever fills or empties a
limit's slots, or counts on them, does so under the lock of its row, so that no wake-up is lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.definition import registry
from geneva_drive.definition.workflow import definition_of
from geneva_drive.engine import commit
from geneva_drive.engine.commit import Applied, Ending
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.executor import Claimed
from geneva_drive.engine.outcome import Parked
from geneva_drive.engine.wanting import Wanted
from geneva_drive.limit import Limit, Rate
from geneva_drive.storage.records import LimitRecord
from geneva_drive.storage.store import Store

# How soon somebody looks again who waits for others to end: their worker may have died, and with
# it the word that they did.
_LOOK_AGAIN = timedelta(seconds=5)
_REACH = 1000  # executions at the head of the queue that are parked together
_MOST_KEYS = 100  # limits that one round looks at
_MOST_WOKEN = 100  # executions that one look at a limit lets go


@dataclass(frozen=True, slots=True)
class Refused:
    """There was no slot: the execution is parked, or no longer ours (None)."""

    applied: Applied | None


@dataclass(frozen=True, slots=True)
class _Room:
    """How many more may start now, and when there may be room for the one after them."""

    free: int
    more_at: datetime


@dataclass(frozen=True, slots=True)
class _Unknown:
    """Limits that nobody has asked for yet."""

    keys: Sequence[str]


def admit(environment: Environment, claimed: Claimed, wanted: Sequence[Wanted]) -> Refused | None:
    """Take a slot of every limit that an execution is under; None if it has them and may run.

    One transaction takes all of them, or none and parks the execution.
    """
    store = environment.store
    while True:
        answer = store.write(lambda connection: _ask(connection, environment, claimed, wanted))
        if not isinstance(answer, _Unknown):
            return answer
        for key in answer.keys:
            # Apart, as it holds no other lock: two may ask for it first, and one of them is.
            with contextlib.suppress(IntegrityError):
                store.write(lambda connection, key=key: store.limits.insert(connection, key))  # type: ignore[misc]


def _ask(
    connection: Connection, environment: Environment, claimed: Claimed, wanted: Sequence[Wanted]
) -> Refused | _Unknown | None:
    store = environment.store
    records = store.limits.lock(connection, [one.key for one in wanted])
    unknown = [one.key for one in wanted if one.key not in records]
    if unknown:
        return _Unknown(unknown)
    now = environment.clock.now()  # not before the locks were won, which may have taken a while
    for one in wanted:
        room = _room(connection, store, records[one.key], one.limit, now, most=1)
        if not room.free:
            applied = _park(connection, environment, claimed, one.key, now)
            _note_waiting(connection, store, records[one.key], one, room)
            return Refused(applied)
    for one in wanted:
        _take(connection, store, records[one.key], one.limit, claimed, now)
    if claimed.execution.limit_key is not None:
        store.parking.admit(connection, claimed.execution.id, claimed.claim_token)
    return None


def _room(
    connection: Connection,
    store: Store,
    record: LimitRecord,
    limit: Limit,
    now: datetime,
    most: int,
) -> _Room:
    """Count what may start now, up to `most`."""
    window = limit.window
    free, more_at = most, now
    if window is not None:
        free, more_at = _room_in_window(connection, store, record, window, now, most)
    if limit.concurrency is not None:
        running = store.limits.running(
            connection, record.limit_key, counts_starts=window is not None
        )
        left = max(limit.concurrency - running, 0)
        if left <= free:
            # Both bounds may be reached: then it is the later one that counts.
            later = more_at if left == free else now
            free, more_at = left, max(later, now + _LOOK_AGAIN)
    return _Room(free, more_at)


def _room_in_window(
    connection: Connection,
    store: Store,
    record: LimitRecord,
    window: Rate,
    now: datetime,
    most: int,
) -> tuple[int, datetime]:
    """Look at the starts that the next ones must be a whole period behind.

    Starts are numbered. The next one may be made a period after the one `count` numbers before it;
    one that is missing was forgotten, as it was over.
    """
    above = record.last_number - window.count
    starts = store.limits.starts(connection, record.limit_key, above=above, most=most)
    for number, started_at in starts:
        free = number - above - 1
        if free < most and started_at + window.period > now:
            return free, started_at + window.period
    return (window.count, now + window.period) if window.count < most else (most, now)


def _take(
    connection: Connection,
    store: Store,
    record: LimitRecord,
    limit: Limit,
    claimed: Claimed,
    now: datetime,
) -> None:
    key, number, window = record.limit_key, record.last_number + 1, limit.window
    # Clocks differ between machines: a start is never older than the one before it.
    started_at = max(now, record.used_at or now)
    store.limits.take(
        connection,
        key,
        number,
        execution_id=claimed.execution.id,
        # Whom no one counts while it runs needs no token to be found by.
        claim_token=None if limit.concurrency is None else claimed.claim_token,
        started_at=started_at,
    )
    bounds = store.limits.bounds(limit)
    values = {**bounds, "last_number": number, "used_at": started_at}
    if record.wakes_at is not None and bounds != store.limits.bounds(record.limit):
        values["wakes_at"] = now  # those who wait may have been told to wait for too long
    store.limits.change(connection, key, **values)
    if window is not None:
        store.limits.forget_starts(connection, key, up_to=number - window.count)


def _park(
    connection: Connection, environment: Environment, claimed: Claimed, key: str, now: datetime
) -> Applied | None:
    ending = Ending(
        workflow_id=claimed.workflow.id,
        execution_id=claimed.execution.id,
        claim_token=claimed.claim_token,
        definition=claimed.definition,
        outcome=Parked(key),
    )
    [applied] = commit.apply(
        connection, environment.store, [ending], now, read_back=environment.events.wanted
    )
    return applied


def _note_waiting(
    connection: Connection, store: Store, record: LimitRecord, one: Wanted, room: _Room
) -> None:
    if one.alike is not None:
        # Each of them would be claimed only to be parked, and keep others waiting meanwhile.
        store.parking.park_alike(connection, one.key, one.alike, _REACH)
    bounds = store.limits.bounds(one.limit)
    wakes_at = room.more_at
    if record.wakes_at is not None and bounds == store.limits.bounds(record.limit):
        # The earlier look stands, or those who keep asking would put it off for ever.
        wakes_at = min(wakes_at, record.wakes_at)
    store.limits.change(connection, one.key, **bounds, wakes_at=wakes_at)


def wake(
    environment: Environment,
    freed: Collection[str] = (),
    queues: Sequence[str] | None = None,
) -> int:
    """Let those ask again who wait for a limit that has room; count them.

    Looks at limits that are due for it, and at those in `freed`, of which the caller knows that a
    slot was left. Who asks again is the most urgent and oldest, of what this process serves first.
    """
    store, now = environment.store, environment.clock.now()
    keys = store.read(lambda connection: store.limits.awaited(connection, now, freed, _MOST_KEYS))
    if not keys:
        return 0
    types = [definition_of(known).type for known in registry.all_classes()]
    served = store.parking.is_served(types, queues)

    def let_go(connection: Connection) -> int:
        records = store.limits.lock(connection, keys).values()
        moment = environment.clock.now()
        return sum(
            _let_go(connection, store, record, moment, served)
            for record in records
            if record.wakes_at is not None
        )

    return store.write(let_go)


def _let_go(
    connection: Connection,
    store: Store,
    record: LimitRecord,
    now: datetime,
    served: ColumnElement[bool],
) -> int:
    key = record.limit_key
    room = _room(connection, store, record, record.limit, now, most=_MOST_WOKEN)
    count = store.parking.let_go(connection, key, room.free, served)
    wakes_at = None
    if store.parking.any_waits(connection, key):
        # Who was let go may never take its slot: it may be canceled, or skipped by its condition.
        wakes_at = min(room.more_at, now + _LOOK_AGAIN) if room.free else room.more_at
    store.limits.change(connection, key, wakes_at=wakes_at)
    return count


def forget_unused(environment: Environment, before: datetime, most: int) -> int:
    """Delete limits that nobody has used since, such as those of single accounts; count them."""
    store, now = environment.store, environment.clock.now()

    def forget(connection: Connection) -> int:
        unused = store.limits.unused_since(connection, before, most)
        return store.limits.forget(connection, [r.limit_key for r in unused if _is_over(r, now)])

    return store.write(forget)


def _is_over(record: LimitRecord, now: datetime) -> bool:
    """Say whether no start of a limit counts for its rate any more."""
    window = record.limit.window
    return window is None or record.used_at is None or record.used_at + window.period <= now
