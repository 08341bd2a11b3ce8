"""Runs all health checks; a check without the required privilege becomes a reminder."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy.exc import DBAPIError

from geneva_drive.clock import Clock
from geneva_drive.errors import MissingRights
from geneva_drive.settings import Settings
from geneva_drive.storage.dialects.health_check import Check, Look, Thresholds, reminder
from geneva_drive.storage.health.clocks import clock_skew
from geneva_drive.storage.health.connections import connections
from geneva_drive.storage.health.indexes import indexes
from geneva_drive.storage.health.rights import rights
from geneva_drive.storage.store import Store


def examine(
    store: Store, settings: Settings, clock: Clock, thresholds: Thresholds | None = None
) -> Iterator[Check]:
    """Run the checks one after another and yield their findings."""
    thresholds = thresholds or Thresholds()
    dialect = store.database.dialect
    for name, look in _looks(store, thresholds):
        yield from _answers(store, name, look)
    with store.database.translating():
        yield from rights(store.database, store.tables)
    yield connections(store.database.engine)
    yield store.read(lambda c: clock_skew(c, dialect, clock, settings.lease, thresholds))


def _looks(store: Store, thresholds: Thresholds) -> Iterator[tuple[str, Look]]:
    tables, dialect = store.tables, store.database.dialect
    yield "indexes", lambda c: indexes(c, tables, dialect.invalid_indexes(c))
    yield from dialect.looks(tables, thresholds)


def _answers(store: Store, name: str, look: Look) -> list[Check]:
    try:
        # A connection per check: after an error PostgreSQL refuses the rest of the transaction.
        return store.read(lambda connection: list(look(connection)))
    except (DBAPIError, MissingRights) as refusal:
        error = refusal.__cause__ if isinstance(refusal, MissingRights) else refusal
        cause = error.orig if isinstance(error, DBAPIError) else error
        words = str(cause.args[-1] if cause and cause.args else cause)
        return [
            reminder(
                name,
                f"It could not be checked: {words.splitlines()[0].rstrip('.')}.",
                "Check as a user with the privilege; on MySQL: GRANT PROCESS ON *.*.",
            )
        ]
