"""Looking who waits for a limit that has room, and which limits nobody uses any more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.definition import registry
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.limits.capacity import LOOK_AGAIN, measure
from geneva_drive.storage.schema.records import Key, LimitRecord, LimitUse
from geneva_drive.storage.statements.parked_executions import ALL, Among, LetGo
from geneva_drive.storage.store import Store

_REST = timedelta(milliseconds=20)
_MOST_KEYS = 100  # limits that one round looks at
_MOST_WOKEN = 100  # executions that one look at a limit lets go


def due(environment: Environment) -> Sequence[str]:
    """Name the limits whose next look is due."""
    store, now = environment.store, environment.clock.now()
    return store.read(lambda connection: store.limits.due(connection, now, _MOST_KEYS))


def awaited(environment: Environment, freed: Collection[str]) -> Sequence[str]:
    """Name those of the limits, of which the caller left a slot or found none, that others want."""
    if not freed:
        return ()
    store = environment.store
    return store.read(lambda connection: store.limits.awaited(connection, freed))


def waiting(environment: Environment, key: str, passed_over: Collection[Key]) -> Sequence[Key]:
    """Name those who wait for a limit, as many as one look may let go."""
    store = environment.store
    return store.read(
        lambda connection: store.parked_executions.waiting(
            connection, key, _MOST_WOKEN, passed_over
        )
    )


def look(
    environment: Environment,
    keys: Collection[str],
    queues: Sequence[str] | None = None,
    among: Among = ALL,
) -> int:
    """Let those ask again for whom there is room; count them.

    The most urgent and oldest that wait, of what this process serves first.
    """
    if not keys:
        return 0
    store = environment.store
    served = store.parked_executions.is_served(registry.types(), queues)

    def let_go(connection: Connection) -> list[LetGo]:
        records = store.limits.lock(connection, keys).values()
        now = environment.clock.now()
        return [
            _let_go(connection, store, record, now, served, among)
            for record in records
            if record.wakes_at is not None
        ]

    gone = store.write(let_go)
    if any(one.others for one in gone):
        environment.wakeups.ring()  # the caller looks for what it serves by itself
    return sum(map(sum, gone))


def _let_go(
    connection: Connection,
    store: Store,
    record: LimitRecord,
    now: datetime,
    served: ColumnElement[bool],
    among: Among,
) -> LetGo:
    key = record.limit_key
    room = measure(connection, store, record, record.limit, now, most=_MOST_WOKEN)
    free = room.free
    gone = store.parked_executions.let_go(connection, key, free, served, among) if free else LetGo()
    wakes_at = None
    if store.parked_executions.any_waits(connection, key, among.passed_over):
        # Who was let go may never take its slot: it may be canceled, or skipped by its condition.
        again = min(room.more_at, now + LOOK_AGAIN) if room.free else room.more_at
        wakes_at = max(again, now + _REST)  # not at once: whoever was let go has to ask first
    elif among.passed_over and store.parked_executions.any_waits(connection, key):
        # Another worker may be able to let them go, and so may we, started anew.
        wakes_at = now + LOOK_AGAIN
    store.limits.change(connection, key, wakes_at=wakes_at)
    return gone


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


def use_of(environment: Environment, limit_key: str) -> LimitUse | None:
    """Count what is taken of a limit and who waits for it, for people."""
    store, now = environment.store, environment.clock.now()
    with store.reading() as connection:
        record = store.limits.get(connection, limit_key)
        if record is None:
            return None
        window = record.limit.window
        after = now if window is None else now - window.period
        return LimitUse(
            limit=record.limit,
            running=store.limits.count_running(connection, limit_key),
            started=store.limits.count_starts(connection, limit_key, after),
            waiting=store.parked_executions.count(connection, limit_key),
        )
