"""Workflows that events start: one per event and class, by a worker that has the class."""

from __future__ import annotations

import logging

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from geneva_drive.definition import registry
from geneva_drive.definition.definition import Definition
from geneva_drive.engine import contexts
from geneva_drive.engine.commit import creation, telemetry_events
from geneva_drive.engine.commit.creation import Created, CreationRefused, NewWorkflow
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.heroes import heroes
from geneva_drive.engine.waits.events.heard_events import public
from geneva_drive.errors import InvalidStateError, StorageError
from geneva_drive.serialization import typed_json
from geneva_drive.storage.schema.waits.event_records import EventRecord

logger = logging.getLogger(__name__)

_LONGEST_REASON = 1000


def triggered() -> dict[str, tuple[str, ...]]:
    """Return the event types that start the classes of this process, by type of workflow."""
    return {one.type: one.triggers for one in registry.definitions() if one.triggers}


def register(environment: Environment, triggers: dict[str, tuple[str, ...]]) -> None:
    """Store which events start these classes, for publishers that do not have the classes."""
    if triggers:
        store = environment.store
        store.write(lambda connection: store.event_waits.register(connection, triggers))


def start_due(environment: Environment, limit: int) -> tuple[int, int]:
    """Start the workflows of this process's classes; return how many were found and started."""
    types = {*triggered(), *environment.triggered_documents.by_event(environment.store)}
    if not types:
        return 0, 0
    store, now = environment.store, environment.clock.now()
    due = store.read(lambda connection: store.events.due_starts(connection, types, now, limit))
    return len(due), sum(_start(environment, event, name) for event, name in due)


def _start(environment: Environment, event: EventRecord, type_name: str) -> bool:
    """Start one workflow or record why not; False if that is left to another worker."""
    answer = _answer(environment, event, type_name)
    if answer is None:
        return False
    started = environment.store.write(
        lambda connection: _write(connection, environment, event, type_name, answer)
    )
    if isinstance(started, Created):
        if environment.events.wanted:
            environment.events.emit(telemetry_events.created(started.workflow, started.firsts))
        environment.wakeups.ring()
    return started is not None


def _answer(
    environment: Environment, event: EventRecord, type_name: str
) -> NewWorkflow | str | None:
    """Return the workflow to start, or the reason against it; None if its class is not here."""
    definition = registry.definition_for(type_name)
    if definition is None and type_name in environment.triggered_documents.by_event(
        environment.store
    ):
        try:
            definition = definition_lookup.require_startable(environment.store, type_name)
        except InvalidStateError as error:
            return str(error)  # disabled since
    return None if definition is None else _plan(environment, definition, event)


def _plan(
    environment: Environment, definition: Definition, event: EventRecord
) -> NewWorkflow | str:
    """Return the workflow to start, or the reason against it; `hero_from_event` is user code."""
    try:
        workflow_class = definition.workflow_class
        hero = heroes.reference_to(workflow_class.hero_from_event(public(event)))
        limit = environment.settings.max_payload_size
        context = contexts.dump(definition, typed_json.load(event.payload), limit)
    except (StorageError, DBAPIError):
        raise  # the database failed; the event is not at fault
    except Exception as error:  # noqa: BLE001 - user code may raise anything; it is recorded
        reason = f"{type(error).__name__}: {typed_json.words_of(error)}"
        logger.warning("Event %s starts no %s: %s", event.id, definition.type, reason)
        return reason[:_LONGEST_REASON]
    return NewWorkflow(
        definition=definition,
        hero=hero,
        allow_multiple=False,
        context=context,
        queue=None,
        priority=None,
        wait=None,
        idempotency_key=None,
        started_by=f"event {event.id}",
    )


def _write(
    connection: Connection,
    environment: Environment,
    event: EventRecord,
    type_name: str,
    answer: NewWorkflow | str,
) -> Created | str | None:
    """Start a workflow and record it, in one transaction; None if another worker did."""
    store, now = environment.store, environment.clock.now()
    if not store.events.take_start(connection, event.id, type_name, now):
        return None
    if isinstance(answer, NewWorkflow):
        created = creation.create(connection, store, answer, now)
        if isinstance(created, Created):
            values = {"workflow_id": created.workflow.id}
            store.events.end_start(connection, event.id, type_name, values)
            return created
        assert isinstance(created, CreationRefused), "it has no idempotency key"
        answer = f"Its hero already has workflow {created.workflow.id}, which is ongoing."
    store.events.end_start(connection, event.id, type_name, {"error": answer})
    return answer
