"""Calling what a node stands for: a method, a job, or a workflow to be started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.definition.definition import Node
from geneva_drive.definition.dynamic.jobs import JobNode
from geneva_drive.definition.nodes.child import Child, ChildStep
from geneva_drive.definition.nodes.declaration import Junction
from geneva_drive.definition.nodes.removed_step import RemovedStep
from geneva_drive.definition.nodes.step import Step
from geneva_drive.definition.nodes.task import JobTask
from geneva_drive.definition.workflow import Workflow, definition_of
from geneva_drive.engine import heroes
from geneva_drive.engine.commit import creation, events
from geneva_drive.engine.commit.creation import Created, CreationRefused, NewWorkflow
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits import family
from geneva_drive.errors import (
    AlreadyRunning,
    ChildCanceled,
    InvalidInput,
)
from geneva_drive.serialization import typed_json
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord


def call(
    environment: Environment,
    execution: ExecutionRecord,
    node: Node,
    instance: Workflow[Any],
    arguments: tuple[Any, ...],
) -> Any:
    """Run a node's body; of an async one, this gives the coroutine."""
    match node.declared:
        case Step(function=function):
            return function(instance, *arguments)
        case JobTask(job=job, args=args):
            called = JobNode(id=execution.node_id, name=node.name, args=args)
            return job.call(args, instance, called, *arguments)
        case ChildStep(child=child):
            return _run_child(environment, execution, child, instance)
        case Junction() | RemovedStep():
            return None
        case _:
            assert_never(node.declared)


class ChildPlanned(BaseException):
    """Ends the run of a node whose child is to be started; the node waits from then on."""

    def __init__(self, child: NewWorkflow) -> None:
        self.child = child


def _run_child(
    environment: Environment, execution: ExecutionRecord, child: Child, instance: Workflow[Any]
) -> None:
    """Say which child to start, or, once it has ended, how: to return is to be done."""
    if execution.child_id is None:
        raise ChildPlanned(_new_workflow(environment, execution, child, instance))
    store = environment.store
    record = store.read(lambda c: store.workflows.get(c, execution.child_id))
    # One that is gone had ended: only what has ended is pruned.
    if record is not None and record.state is WorkflowState.CANCELED:
        raise ChildCanceled(record.type, record.id)


def start_child(connection: Connection, environment: Environment, new: NewWorkflow) -> Created:
    """Create it in the transaction that will say that the node waits: both, or neither."""
    answer = creation.create(connection, environment.store, new, environment.clock.now())
    if isinstance(answer, CreationRefused):
        assert new.hero is not None, "only a hero's second workflow is refused"
        existing = environment.open_handle(answer.workflow)
        raise AlreadyRunning(answer.workflow.type, new.hero.type, new.hero.id, existing)
    assert isinstance(answer, Created), "only a known idempotency key finds an existing one"
    return answer


def tell_of_child(environment: Environment, created: Created) -> None:
    if environment.events.wanted:
        environment.events.emit(events.created(created.workflow, created.firsts))
    environment.wakeups.ring()
    family.greet(environment, created.workflow)


def _new_workflow(
    environment: Environment, execution: ExecutionRecord, child: Child, instance: Workflow[Any]
) -> NewWorkflow:
    workflow_class = child.workflow_class
    if isinstance(workflow_class, str):
        definition = registry.require_definition(workflow_class)
    else:
        definition = definition_of(workflow_class)
    hero = child.hero(instance) if callable(child.hero) else child.hero
    context = child.context(instance) if callable(child.context) else child.context
    if context is not None and not isinstance(context, Mapping):
        raise InvalidInput(f"The context of a child workflow is a dict, not {context!r}.")
    limit = environment.settings.max_payload_size
    return NewWorkflow(
        definition=definition,
        hero=heroes.reference_to(hero),
        allow_multiple=False,
        context=None
        if context is None
        else typed_json.dump_within(
            dict(context), limit, what="The context", setting="max_payload_size"
        ),
        queue=None,
        priority=None,
        wait=None,
        idempotency_key=None,
        parent_execution_id=execution.id,
        is_detached=child.detached,
    )
