"""Create workflows: one transaction inserts the workflow and its first executions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from geneva_drive.definition import stepless_classes
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.dynamic.stored_graph import StoredGraph
from geneva_drive.definition.heroes import HeroRef
from geneva_drive.engine.commit.rows import execution_record, new_execution_values
from geneva_drive.engine.graphs.dependency_counts import plan_stored_node
from geneva_drive.engine.graphs.graph_rows import graph_row, join_rows, node_rows, scheduling_of
from geneva_drive.engine.transitions.change import NewExecution
from geneva_drive.engine.transitions.planned_executions import plan_node
from geneva_drive.states import WorkflowState
from geneva_drive.storage.dialects.hints import Hints
from geneva_drive.storage.schema.records import ExecutionRecord, Key, NodeOutline, WorkflowRecord
from geneva_drive.storage.store import Store

logger = logging.getLogger(__name__)

_MAX_TRIES = 3

Columns = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWorkflow:
    """The checked arguments of `create`."""

    definition: Definition
    hero: HeroRef | None
    allow_multiple: bool
    context: str | None
    queue: str | None
    priority: int | None
    wait: timedelta | datetime | None  # before the first step, as a duration or a time
    not_before: datetime | None = None  # the first wait counts from then, if that is later
    idempotency_key: str | None
    started_by: str | None = None  # the actor of `create`
    graph: StoredGraph | None = None  # of a dynamic workflow
    template: str | None = None
    parent_execution_id: Key | None = None
    is_detached: bool = False
    lifetime: timedelta | None = None  # until it is canceled; None: that of its document
    reads_back: bool = True  # telemetry wants the scheduled executions


@dataclass(frozen=True, slots=True)
class Created:
    workflow: WorkflowRecord
    firsts: Sequence[ExecutionRecord]


@dataclass(frozen=True, slots=True)
class Existing:
    """A workflow with the same idempotency key exists already."""

    workflow: WorkflowRecord


@dataclass(frozen=True, slots=True)
class CreationRefused:
    """The hero already has an ongoing workflow of this class."""

    workflow: WorkflowRecord


CreationResult = Created | Existing | CreationRefused


def start(store: Store, new: NewWorkflow, now: datetime, hints: Hints) -> CreationResult:
    """Create a workflow in a transaction of its own, in as few round trips as possible.

    The same statement sends the hint to workers, if the database can do that.
    """
    workflow, executions = _plan(new, now)
    if new.graph is not None or len(executions) > 1:
        answer = store.write(lambda connection: create(connection, store, new, now))
        hints.send()
        return answer
    execution = executions[0] if executions else None
    for _ in range(_MAX_TRIES):
        notice = hints.along() if execution else None
        started = store.write_at_once(
            lambda connection, notice=notice: store.database.dialect.start(  # type: ignore[misc]
                connection, store.tables, workflow, execution, notice
            )
        )
        if started is not None:
            if notice is not None:
                hints.went_along()
            return _created(workflow, execution, *started)
        found = store.read(lambda connection: _find(connection, store, new))
        if found is not None:
            return found
        # The conflicting workflow has ended meanwhile.
    answer = store.write(lambda connection: create(connection, store, new, now))
    hints.send()
    return answer


def create(connection: Connection, store: Store, new: NewWorkflow, now: datetime) -> CreationResult:
    """Create a workflow in the caller's transaction, which stays usable after a refusal."""
    for remaining in reversed(range(_MAX_TRIES)):
        found = _find(connection, store, new)
        if found is not None:
            return found
        try:
            # Two callers may both find nothing above; the unique index admits one of them.
            with connection.begin_nested():
                return _insert(connection, store, new, now)
        except IntegrityError:
            # Under REPEATABLE READ the caller's snapshot does not show the conflicting row.
            found = _find(connection, store, new) or _find_on_own_connection(store, new)
            if found is not None:
                return found
            if remaining == 0:
                raise
    raise AssertionError("the last try returns or raises")


def _find_on_own_connection(store: Store, new: NewWorkflow) -> Existing | CreationRefused | None:
    with store.database.engine.connect() as apart:
        return _find(apart, store, new)


def _find(
    connection: Connection, store: Store, new: NewWorkflow
) -> Existing | CreationRefused | None:
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
    return None if ongoing is None else CreationRefused(ongoing)


def _insert(connection: Connection, store: Store, new: NewWorkflow, now: datetime) -> Created:
    workflow, executions = _plan(new, now)
    workflow_id = store.workflows.insert(connection, workflow)
    if new.graph is not None:
        store.graphs.insert(
            connection,
            graph_row(workflow_id, new.graph, new.template),
            node_rows(workflow_id, new.graph, scheduling_of(new.graph)),
            join_rows(workflow_id, new.graph),
        )
    rows = [{**execution, "workflow_id": workflow_id} for execution in executions]
    store.executions.insert(connection, rows)
    is_read = rows and (new.reads_back or new.graph is None)
    firsts = store.executions.active_of(connection, [workflow_id]) if is_read else []
    return Created(_workflow_record(workflow, workflow_id), firsts)


def _plan(new: NewWorkflow, now: datetime) -> tuple[Columns, list[Columns]]:
    """Return the columns of the workflow and of its first executions."""
    is_over = not (new.definition.step_names if new.graph is None else new.graph.nodes)
    is_chain = new.graph is None and not new.definition.is_graph
    if is_over and new.graph is None:
        logger.warning("%s", stepless_classes.warning_about(new.definition))
    workflow: Columns = {
        "type": new.definition.type,
        "state": WorkflowState.FINISHED if is_over else WorkflowState.READY,
        "hero_type": new.hero.type if new.hero else None,
        "hero_id": new.hero.id if new.hero else None,
        "allow_multiple": new.allow_multiple,
        "idempotency_key": new.idempotency_key,
        "context": new.context,
        "queue": new.queue,
        "priority": new.priority,
        "created_at": now,
        "updated_at": now,
        "started_at": now if is_over else None,
        "finished_at": now if is_over else None,
        "has_graph": new.graph is not None,
        "parent_execution_id": new.parent_execution_id,
        "is_detached": new.is_detached,
        "started_by": new.started_by,
        **_document_columns(new, now),
    }
    record = _workflow_record(workflow, None)
    executions = []
    for planned in _entries(new, record, now):
        execution = new_execution_values(record, planned, 1, now)
        del execution["workflow_id"]  # known once the workflow is inserted
        executions.append(execution)
        if is_chain:
            workflow["next_step_name"] = planned.step_name
    return workflow, executions


def _document_columns(new: NewWorkflow, now: datetime) -> Columns:
    """Return the columns that only a document's workflow has, and its expiry."""
    definition, columns = new.definition, {}
    if definition.is_document:
        columns = {
            "definition_version": definition.version,
            "definition_signature": definition.signature,
        }
    lifetime = new.lifetime or definition.lifetime
    return columns if lifetime is None else {**columns, "expires_at": now + lifetime}


def _entries(new: NewWorkflow, record: WorkflowRecord, now: datetime) -> Iterator[NewExecution]:
    """Yield the executions of the nodes without dependencies."""
    if new.graph is not None:
        for stored in new.graph.nodes.values():
            if not stored.depends_on:
                outline = NodeOutline.of_entry(stored.id, stored.name, stored.job, None)
                yield plan_stored_node(record, outline, now)
        return
    definition = new.definition
    for name in definition.entries:
        node = definition.require(name)
        yield plan_node(definition, record, node, _first_at(new, node.options.wait, now))


def _first_at(new: NewWorkflow, own_wait: timedelta, now: datetime) -> datetime:
    if isinstance(new.wait, datetime):
        return max(new.wait, now)
    if new.not_before is not None:
        now = max(now, new.not_before)
    return now + (own_wait if new.wait is None else new.wait)


def _created(
    workflow: Columns, execution: Columns | None, workflow_id: Key, execution_id: Key | None
) -> Created:
    firsts = []
    if execution is not None:
        firsts = [execution_record(execution_id, {**execution, "workflow_id": workflow_id})]
    return Created(_workflow_record(workflow, workflow_id), firsts)


def _workflow_record(values: Columns, workflow_id: Key | None) -> WorkflowRecord:
    return WorkflowRecord(**values, id=workflow_id)
