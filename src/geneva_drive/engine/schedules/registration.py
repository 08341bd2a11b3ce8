"""Register the schedules of this process's classes and of deployed documents."""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from geneva_drive.definition.schedule import Cron
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.schedules.due_runs import cron_of
from geneva_drive.storage.schema.documents.definition_record import DefinitionRecord
from geneva_drive.storage.schema.schedule_records import ScheduleRecord
from geneva_drive.storage.store import Store

logger = logging.getLogger(__name__)


def register_served(environment: Environment) -> None:
    """Store the schedules that this process has not stored yet; the last process to do so wins.

    Runs that are due under the former terms are fired first. Until then, the schedule stays
    unregistered, and the next call tries again.
    """
    served, store = environment.served_schedules, environment.store
    for type_name, cron in served.unregistered():
        now = environment.clock.now()
        bring = partial(_register, store=store, type_name=type_name, cron=cron, now=now)
        if store.write(bring):
            served.note_registered(type_name, cron)


def ensure(environment: Environment, type_name: str, cron: Cron) -> None:
    """Insert a schedule if the database does not have it; leave it as it is otherwise."""
    store, now = environment.store, environment.clock.now()
    known = store.read(lambda connection: store.schedules.get(connection, type_name))
    if known is None:
        store.write(lambda connection: _insert(connection, store, type_name, cron, now))


def new_record(type_name: str, cron: Cron, now: datetime) -> ScheduleRecord:
    """Return the row of a new schedule, which fires from now on."""
    return ScheduleRecord(
        type=type_name,
        **_terms(cron),
        seen_at=now,
        changed_at=now,
        next_at=cron.first_after(now),
    )


def follow(connection: Connection, store: Store, type_name: str, cron: Cron, now: datetime) -> None:
    """Store the schedule of a document, in force from now on; the caller has locked its row."""
    known = store.schedules.get(connection, type_name)
    if known is None:
        _insert(connection, store, type_name, cron, now)
    elif cron_of(known) != cron:
        _take_over(connection, store, known, cron, now)
    elif known.next_at is None:  # it was disabled
        store.schedules.update(connection, known, {"next_at": cron.first_after(now)})


def _register(
    connection: Connection, store: Store, type_name: str, cron: Cron, now: datetime
) -> bool:
    """Store the schedule of a class; False if the caller has to try again."""
    known = store.schedules.get(connection, type_name)
    if known is None:
        return _insert(connection, store, type_name, cron, now)
    if cron_of(known) == cron:
        return True
    known = store.schedules.lock(connection, type_name)
    if known is None or known.is_due(now):
        return False
    return _take_over(connection, store, known, cron, now)


def _insert(
    connection: Connection, store: Store, type_name: str, cron: Cron, now: datetime
) -> bool:
    try:
        with connection.begin_nested():
            store.schedules.insert(connection, new_record(type_name, cron, now))
    except IntegrityError:
        return False  # another process was faster
    return True


def _take_over(
    connection: Connection, store: Store, known: ScheduleRecord, cron: Cron, now: datetime
) -> bool:
    values: dict[str, Any] = {**_terms(cron), "changed_at": now}
    if (known.cron, known.timezone) != (cron.line, cron.timezone):
        # The process that fired last may have a fast clock. Its moment must not fire again.
        values["next_at"] = cron.first_after(max(now, known.last_at or now))
        logger.info(
            "Schedule %s: %r (%s) replaces %r (%s)",
            *(known.type, cron.line, cron.timezone, known.cron, known.timezone),
        )
    return store.schedules.update(connection, known, values)


def _terms(cron: Cron) -> dict[str, Any]:
    return {
        "cron": cron.line,
        "timezone": cron.timezone,
        "overlap": cron.overlap,
        "missed": cron.missed,
        "jitter_seconds": None if cron.jitter is None else cron.jitter.total_seconds(),
    }


def register_document(
    connection: Connection, store: Store, current: DefinitionRecord, now: datetime
) -> None:
    """Store the trigger of a document's current version; remove it if the document is disabled.

    The caller stores the document in the same transaction.
    """
    event = current.trigger_event if current.is_enabled else None
    store.event_waits.register(connection, {current.name: () if event is None else (event,)})
    known = store.schedules.lock(connection, current.name)
    definition = definition_lookup.compiled(current) if current.is_scheduled else None
    cron = definition.schedule if definition is not None else None
    if cron is not None and current.is_enabled:
        follow(connection, store, current.name, cron, now)
    elif known is not None:
        store.schedules.update(connection, known, {"next_at": None})
