"""Store an event; if the dialect supports it, the same statement releases the only wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from geneva_drive.engine.announcement import announce_commit
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import Change, unchanged
from geneva_drive.engine.transitions.holds import released_wait
from geneva_drive.engine.waits.events.event_delivery import (
    announce_ends,
    deliver_event,
    patterns_for,
)
from geneva_drive.engine.waits.events.event_release import resume_data
from geneva_drive.states import EventWaitState, StepState
from geneva_drive.storage.dialects.event_insert import Publication, ReleasedWait, Stored
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.waits.event_records import EventRecord


def store_event(environment: Environment, event: Mapping[str, Any]) -> Stored | None:
    """Store an event in a transaction of its own; None if its source has used its id.

    The caller still has to deliver it: to a wait that began at the same moment, to several waits,
    to waits with a `match`, and to classes.
    """
    store, hints = environment.store, environment.wakeups.hints
    new = Publication(
        event=event,
        patterns=patterns_for(event["type"]),
        resume_data=resume_data(event["event_id"], event["source"], event["type"]),
        notice=hints.along(),
    )
    dialect = store.database.dialect
    stored = store.write_at_once(lambda connection: dialect.publish(connection, store.tables, new))
    if stored is not None and stored.released is not None:
        if new.notice is not None:
            hints.went_along()
        environment.wakeups.ring()
    return stored


def deliver_stored(
    environment: Environment, event: EventRecord, released: ReleasedWait | None
) -> list[Key]:
    """Deliver an event that `store_event` has stored; return the workflows that continue."""
    if released is None:
        return deliver_event(environment, event)
    if environment.events.wanted:
        _announce(environment, event, released)
    return deliver_event(environment, event, [released.workflow_id])


def _announce(environment: Environment, event: EventRecord, released: ReleasedWait) -> None:
    """Emit the events of a release; its rows are read now, and may have changed since."""
    store = environment.store

    def read(connection: Connection) -> Any:
        return (
            store.workflows.get_many(connection, [released.workflow_id]),
            store.executions.get_many(connection, [released.execution_id]),
            store.event_waits.get(connection, released.wait_id),
        )

    workflows, executions, wait = store.read(read)
    if not workflows or not executions or wait is None:
        return  # removed meanwhile
    [workflow] = workflows.values()
    moves = [released_wait(one._replace(state=StepState.WAITING, stop=None)) for one in executions]
    change = Change(record=workflow, workflow=unchanged(workflow), executions=tuple(moves))
    announce_commit(environment, [Applied(change=change, workflow=workflow)])
    announce_ends(environment, [wait], workflows, EventWaitState.HEARD, event.id)
