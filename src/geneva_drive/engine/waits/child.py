"""Child workflows: a node starts one and waits for its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from geneva_drive.definition.definition import Definition
from geneva_drive.definition.nodes.child import Child
from geneva_drive.definition.workflow import Workflow, definition_of
from geneva_drive.engine import contexts, kept_results
from geneva_drive.engine.commands import cancel as cancellation
from geneva_drive.engine.commands.command import execute
from geneva_drive.engine.commit import creation
from geneva_drive.engine.commit.creation import Created, CreationRefused, NewWorkflow
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.heroes import heroes
from geneva_drive.engine.transitions.change import AuditEntry
from geneva_drive.errors import (
    AlreadyRunning,
    ChildCanceled,
    InvalidStateError,
    NotFound,
)
from geneva_drive.states import ENDED_WORKFLOW_STATES, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.storage.store import Store

_ACTOR = "parent"
_REASON = "The node that started it no longer waits for it."


def plan(
    environment: Environment, execution: ExecutionRecord, child: Child, instance: Workflow[Any, Any]
) -> NewWorkflow:
    """Return the child to start; its hero and context may be callables, which is user code."""
    definition = _definition(environment, child.workflow_class)
    hero = child.hero(instance) if callable(child.hero) else child.hero
    context = child.context(instance) if callable(child.context) else child.context
    return NewWorkflow(
        definition=definition,
        hero=heroes.reference_to(hero),
        allow_multiple=False,
        context=contexts.dump(definition, context, environment.settings.max_payload_size),
        queue=None,
        priority=None,
        wait=None,
        idempotency_key=None,
        parent_execution_id=execution.id,
        is_detached=child.detached,
        lifetime=child.timeout,
    )


def _definition(environment: Environment, wanted: type[Workflow[Any, Any]] | str) -> Definition:
    if not isinstance(wanted, str):
        return definition_of(wanted)
    return definition_lookup.require_startable(environment.store, wanted)


def start(connection: Connection, environment: Environment, new: NewWorkflow) -> Created:
    parent = environment.store.families.parent(connection, new.parent_execution_id)
    assert parent is not None, "the execution that starts it is held by this worker"
    # Otherwise, the person who started the parent could decide approvals of the child.
    started_by = environment.store.workflows.started_by(connection, parent[0])
    new = replace(new, started_by=started_by)
    answer = creation.create(connection, environment.store, new, environment.clock.now())
    if isinstance(answer, CreationRefused):
        assert new.hero is not None, "only a hero's second workflow is refused"
        existing = environment.open_handle(answer.workflow)
        raise AlreadyRunning(answer.workflow.type, new.hero.type, new.hero.id, existing)
    assert isinstance(answer, Created), "only a known idempotency key finds an existing one"
    return answer


def result_of(environment: Environment, child_id: Key) -> str | None:
    """Return the result of a finished child; raise `ChildCanceled` if it was canceled.

    The node stores it too, because the child may be pruned before the parent reads it.
    """
    return environment.store.read(
        lambda connection: _result_of(connection, environment.store, child_id)
    )


def _result_of(connection: Connection, store: Store, child_id: Key) -> str | None:
    record = store.workflows.get(connection, child_id)
    if record is None:  # it had ended: only ended workflows are pruned
        return None
    if record.state is WorkflowState.CANCELED:
        raise ChildCanceled(record.type, record.id)
    return kept_results.of_workflow(connection, store, record)


def cancel(environment: Environment, child_id: Key) -> Applied | None:
    """Cancel a child; None if it is detached or has ended."""
    store, now = environment.store, environment.clock.now()
    child = store.read(lambda connection: store.workflows.get(connection, child_id))
    if child is None or child.is_detached or child.state in ENDED_WORKFLOW_STATES:
        return None
    audit = AuditEntry(command="cancel", actor=_ACTOR, reason=_REASON)
    try:
        return store.write(
            lambda connection: execute(
                connection,
                store,
                child_id,
                lambda subject: cancellation.cancel(subject, _REASON, force=False),
                audit=audit,
                now=now,
            )
        )
    except (InvalidStateError, NotFound):
        return None  # it has ended meanwhile
