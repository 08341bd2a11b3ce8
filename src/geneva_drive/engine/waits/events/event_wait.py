"""Waits for events: planned when a node is reached, then opened, and reopened by a match."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from geneva_drive import checks
from geneva_drive.definition.definition import Node
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.waits import event_values
from geneva_drive.definition.workflow import Workflow
from geneva_drive.engine.environment import Environment
from geneva_drive.serialization import typed_json
from geneva_drive.states import EventWaitState
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord
from geneva_drive.storage.statements.waits.events import CALLBACK_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEventWait:
    """A wait to open, with its terms as evaluated when the node was reached."""

    workflow_id: Key
    execution_id: Key
    step_name: str
    patterns: tuple[str, ...]
    key: str  # "" for any
    is_all: bool
    has_match: bool
    timeout: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenedWait:
    """A wait that continues, because its match accepted none of the events that it has seen."""

    wait_id: Key
    workflow_id: Key
    execution_id: Key
    seen_id: Key | None
    arrived: frozenset[Key]  # arrived events that its match has seen


def plan(execution: ExecutionRecord, node: Node, instance: Workflow[Any, Any]) -> NewEventWait:
    """Return the wait to open; terms may be callables, which is user code."""
    terms = node.event_terms
    patterns, key = terms.patterns, ""
    if node.kind is NodeKind.CALLBACK:
        patterns, key = (CALLBACK_TYPE,), callback_key(execution.workflow_id, node.name)
    elif terms.key is not None:
        key = event_values.key("key", terms.key(instance) if callable(terms.key) else terms.key)
    timeout = terms.timeout(instance) if callable(terms.timeout) else terms.timeout
    return NewEventWait(
        workflow_id=execution.workflow_id,
        execution_id=execution.id,
        step_name=node.name,
        patterns=patterns,
        key=key,
        is_all=terms.is_all,
        has_match=terms.match is not None,
        timeout=None if timeout is None else checks.positive_duration("timeout", timeout),
    )


def callback_key(workflow_id: Key, step_name: str) -> str:
    """Return the key of the events that represent a step's callbacks."""
    return hashlib.sha256(f"{workflow_id}/{step_name}".encode()).hexdigest()


def open_event_wait(
    connection: Connection, environment: Environment, new: NewEventWait
) -> EventWaitRecord:
    """Insert the wait; the caller makes its execution wait in the same transaction."""
    store = environment.store
    store.workflows.lock(connection, [new.workflow_id])  # as for approvals: see open_request
    now = environment.clock.now()
    deadline = None if new.timeout is None else now + new.timeout
    types = typed_json.dump(list(new.patterns))
    key = store.event_waits.open(
        connection,
        {
            "workflow_id": new.workflow_id,
            "execution_id": new.execution_id,
            "step_name": new.step_name,
            "state": EventWaitState.OPEN,
            "types": types,
            "awaited_key": new.key,
            "is_all": new.is_all,
            "has_match": new.has_match,
            "has_looked": False,
            "opened_at": now,
            "expires_at": deadline,
            "wakes_at": deadline,
        },
        new.patterns,
    )
    return EventWaitRecord(
        id=key,
        workflow_id=new.workflow_id,
        execution_id=new.execution_id,
        step_name=new.step_name,
        state=EventWaitState.OPEN,
        types=types,
        awaited_key=new.key,
        is_all=new.is_all,
        has_match=new.has_match,
        seen_id=None,
        arrived=None,
        opened_at=now,
        expires_at=deadline,
    )


def reopen(connection: Connection, environment: Environment, again: ReopenedWait) -> bool:
    """Store which events the match has seen; False if the node has to run again immediately.

    An event may have arrived while the match ran, or the deadline may have passed.
    """
    store = environment.store
    store.workflows.lock(connection, [again.workflow_id])
    wait = store.event_waits.get(connection, again.wait_id)
    if wait is None or not wait.is_open or not again.arrived.issuperset(wait.arrived_ids):
        return False
    values = {
        "execution_id": again.execution_id,
        "arrived": None,
        "has_looked": True,
        "wakes_at": wait.expires_at,
    }
    if again.seen_id is not None:
        values["seen_id"] = again.seen_id
    store.event_waits.update(connection, [again.wait_id], values)
    return True
