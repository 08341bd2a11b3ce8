"""Starting workflows: one transaction makes the workflow and its first execution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from geneva_drive.definition.definition import Definition
from geneva_drive.definition.heroes import HeroRef
from geneva_drive.engine.change import scheduled
from geneva_drive.engine.rows import new_execution_values
from geneva_drive.states import WorkflowState
from geneva_drive.storage.records import ExecutionRecord, WorkflowRecord
from geneva_drive.storage.store import Store

_MAX_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWorkflow:
    """What is asked for, read and checked."""

    definition: Definition
    hero: HeroRef | None
    allow_multiple: bool
    context: str | None
    queue: str | None
    priority: int | None
    wait: timedelta | None
    idempotency_key: str | None


@dataclass(frozen=True, slots=True)
class Created:
    workflow: WorkflowRecord
    first: ExecutionRecord | None


@dataclass(frozen=True, slots=True)
class Existing:
    """The same call was made before: its idempotency key is known."""

    workflow: WorkflowRecord


@dataclass(frozen=True, slots=True)
class Refused:
    """The hero has an ongoing workflow of this class."""

    workflow: WorkflowRecord


def create(
    connection: Connection, store: Store, new: NewWorkflow, now: datetime
) -> Created | Existing | Refused:
    """Create a workflow inside the caller's transaction, which stays usable if it is refused."""
    for remaining in reversed(range(_MAX_TRIES)):
        found = _find(connection, store, new)
        if found is not None:
            return found
        try:
            # The index decides, not the look before: two may look at the same moment.
            with connection.begin_nested():
                return _insert(connection, store, new, now)
        except IntegrityError:
            # Under REPEATABLE READ the caller's transaction cannot see what stands in its way.
            found = _find(connection, store, new) or _find_apart(store, new)
            if found is not None:
                return found
            if remaining == 0:
                raise
    raise AssertionError("the last try returns or raises")


def _find_apart(store: Store, new: NewWorkflow) -> Existing | Refused | None:
    with store.database.engine.connect() as apart:
        return _find(apart, store, new)


def _find(connection: Connection, store: Store, new: NewWorkflow) -> Existing | Refused | None:
    if new.idempotency_key is not None:
        known = store.workflows.with_idempotency_key(
            connection, new.definition.type, new.idempotency_key
        )
        if known is not None:
            return Existing(known)
    if new.hero is None or new.allow_multiple:
        return None
    ongoing = store.workflows.ongoing_of_hero(
        connection, new.definition.type, new.hero.type, new.hero.id
    )
    return None if ongoing is None else Refused(ongoing)


def _insert(connection: Connection, store: Store, new: NewWorkflow, now: datetime) -> Created:
    first = new.definition.first
    values: dict[str, Any] = {
        "type": new.definition.type,
        "state": WorkflowState.READY if first else WorkflowState.FINISHED,
        "hero_type": new.hero.type if new.hero else None,
        "hero_id": new.hero.id if new.hero else None,
        "allow_multiple": new.allow_multiple,
        "idempotency_key": new.idempotency_key,
        "context": new.context,
        "queue": new.queue,
        "priority": new.priority,
        "next_step_name": first.name if first else None,
        "created_at": now,
        "updated_at": now,
        "started_at": None if first else now,
        "finished_at": None if first else now,
    }
    workflow_id = store.workflows.insert(connection, values)
    workflow = _record(values, workflow_id)
    if first is None:
        return Created(workflow, None)
    wait = first.options.wait if new.wait is None else new.wait
    planned = scheduled(new.definition, workflow, first, now + wait)
    store.executions.insert(connection, [new_execution_values(workflow, planned, 1, now)])
    [execution] = store.executions.active_of(connection, [workflow_id])
    return Created(workflow, execution)


def _record(values: Mapping[str, Any], workflow_id: Any) -> WorkflowRecord:
    empty = dict.fromkeys(WorkflowRecord.__dataclass_fields__)
    return WorkflowRecord(**{**empty, **values, "id": workflow_id})
