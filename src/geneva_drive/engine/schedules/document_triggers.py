"""Brings the triggers of documents to the tables of listeners and schedules."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.engine.documents import documents
from geneva_drive.engine.schedules import registration
from geneva_drive.storage.schema.documents.definition_record import DefinitionRecord
from geneva_drive.storage.store import Store


def register(
    connection: Connection, store: Store, current: DefinitionRecord, now: datetime
) -> None:
    """Make the database follow what the current version of a document says; nothing if disabled.

    The caller stores the document in the same transaction.
    """
    event = current.trigger_event if current.is_enabled else None
    store.event_waits.register(connection, {current.name: () if event is None else (event,)})
    known = store.schedules.lock(connection, current.name)
    definition = documents.compiled(current) if current.is_scheduled else None
    cron = definition.schedule if definition is not None else None
    if cron is not None and current.is_enabled:
        registration.follow(connection, store, current.name, cron, now)
    elif known is not None:
        store.schedules.update(connection, known, {"next_at": None})
