"""Wake executions that wait for a limit, and delete unused limits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.definition import registry
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.limits.capacity import RECHECK_DELAY, measure
from geneva_drive.storage.schema.records import Key, LimitRecord, LimitUse
from geneva_drive.storage.statements.parked_executions import ALL, Among, LetGo
from geneva_drive.storage.store import Store

_REST = timedelta(milliseconds=20)
_MOST_KEYS = 100  # limits checked in one round
_MOST_WOKEN = 100  # executions woken by one check of a limit


def due(environment: Environment) -> Sequence[str]:
    """Return the limits that are due to be checked."""
    store, now = environment.store, environment.clock.now()
    return store.read(lambda connection: store.limits.due(connection, now, _MOST_KEYS))


def awaited(environment: Environment, freed: Collection[str]) -> Sequence[str]:
    """Return the limits among `freed` that executions wait for."""
    if not freed:
        return ()
    store = environment.store
    return store.read(lambda connection: store.limits.awaited(connection, freed))


def waiting(environment: Environment, key: str, passed_over: Collection[Key]) -> Sequence[Key]:
    """Return executions that wait for a limit, as many as one check may wake."""
    store = environment.store
    return store.read(
        lambda connection: store.parked_executions.waiting(
            connection, key, _MOST_WOKEN, passed_over
        )
    )


def wake(
    environment: Environment,
    keys: Collection[str],
    queues: Sequence[str] | None = None,
    among: Among = ALL,
) -> int:
    """Wake as many executions as the limits have room for; return how many.

    Executions that this process serves come before others, then urgent ones, then older ones.
    """
    if not keys:
        return 0
    store = environment.store
    served = store.parked_executions.is_served(registry.types(), queues)

    def wake_all(connection: Connection) -> list[LetGo]:
        records = store.limits.lock(connection, keys).values()
        now = environment.clock.now()
        return [
            _wake(connection, store, record, now, served, among)
            for record in records
            if record.wakes_at is not None
        ]

    gone = store.write(wake_all)
    if any(one.others for one in gone):
        environment.wakeups.ring()  # the caller claims the served ones itself
    return sum(map(sum, gone))


def _wake(
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
        # A woken execution may never take its slot: it may be canceled or skipped.
        again = min(room.more_at, now + RECHECK_DELAY) if room.free else room.more_at
        wakes_at = max(again, now + _REST)  # the woken executions ask for their slots first
    elif among.passed_over and store.parked_executions.any_waits(connection, key):
        # The database refused to change the rest. Another worker, or this one after a restart, may
        # succeed.
        wakes_at = now + RECHECK_DELAY
    store.limits.change(connection, key, wakes_at=wakes_at)
    return gone


def forget_unused(environment: Environment, before: datetime, most: int) -> int:
    """Delete limits unused since `before`, such as those of single accounts; return how many."""
    store, now = environment.store, environment.clock.now()

    def forget(connection: Connection) -> int:
        unused = store.limits.unused_since(connection, before, most)
        return store.limits.forget(connection, [r.limit_key for r in unused if _is_over(r, now)])

    return store.write(forget)


def _is_over(record: LimitRecord, now: datetime) -> bool:
    """True if no start counts for the limit's rate any more."""
    window = record.limit.window
    return window is None or record.used_at is None or record.used_at + window.period <= now


def use_of(environment: Environment, limit_key: str) -> LimitUse | None:
    """Return how much of a limit is in use, for display."""
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
