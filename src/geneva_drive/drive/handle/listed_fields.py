"""Fields that a list reads for all its workflows together, to save a query for each handle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.engine import kept_results
from geneva_drive.engine.transitions.wait_kinds import ApprovalWait, EventWait, wait_of
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFields:
    """Fields of a handle that other tables store."""

    result: str | None
    parent_id: Key | None
    template: str | None
    waiting_since: datetime | None  # the latest of its open waits for people and events


def read_listed_fields(
    connection: Connection,
    store: Store,
    records: Sequence[WorkflowRecord],
    active: Iterable[ExecutionRecord],
) -> dict[Key, ListedFields]:
    """Read the fields of a page of workflows, with one statement for each kind."""
    facts = store.listed_facts
    started = [one.parent_execution_id for one in records if one.parent_execution_id is not None]
    parents = facts.parents(connection, started)
    templates = facts.templates(connection, [one.id for one in records if one.has_graph])
    since = waiting_since(connection, store, active)
    kept = kept_results.of_workflows(connection, store, records)
    return {
        one.id: ListedFields(
            result=kept[one.id],
            parent_id=parents.get(one.parent_execution_id),
            template=templates.get(one.id),
            waiting_since=since.get(one.id),
        )
        for one in records
    }


def waiting_since(
    connection: Connection, store: Store, active: Iterable[ExecutionRecord]
) -> dict[Key, datetime]:
    """Return when each workflow began the latest of its waits for people and events."""
    waits = [(one.workflow_id, wait_of(one)) for one in active]
    asked = {one.approval_id: key for key, one in waits if isinstance(one, ApprovalWait)}
    heard = {one.wait_id: key for key, one in waits if isinstance(one, EventWait)}
    requests = store.approvals.get_many(connection, list(asked)) if asked else {}
    opened = store.event_waits.get_many(connection, list(heard)) if heard else {}
    began = [
        *((asked[key], one.requested_at) for key, one in requests.items()),
        *((heard[key], one.opened_at) for key, one in opened.items()),
    ]
    # The latest comes last.
    return dict(sorted(began, key=lambda one: one[1]))
