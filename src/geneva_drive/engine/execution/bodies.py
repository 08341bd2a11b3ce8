"""Call a node's body: a method, a job or a child workflow; and open the loop around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, assert_never

from geneva_drive.definition.batches import Batches
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.dynamic.jobs import JobNode
from geneva_drive.definition.dynamic.stored_batch import PASSED, StoredBatch
from geneva_drive.definition.nodes.batch import AggregateStep
from geneva_drive.definition.nodes.branches import BranchStep
from geneva_drive.definition.nodes.child import Child, ChildStep
from geneva_drive.definition.nodes.declaration import Junction
from geneva_drive.definition.nodes.map import ChildMap, MapStep
from geneva_drive.definition.nodes.removed_step import RemovedStep
from geneva_drive.definition.nodes.step import Step
from geneva_drive.definition.nodes.task import JobTask
from geneva_drive.definition.workflow import Workflow
from geneva_drive.engine.batches.batch_results import results_for
from geneva_drive.engine.batches.ranges import require_batches
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.loops.batch_worker_loop import BatchWorkerLoop
from geneva_drive.engine.loops.early_stops import EarlyStops
from geneva_drive.engine.loops.step_loop import StepLoop
from geneva_drive.engine.transitions.batch_workers import BatchWorker
from geneva_drive.engine.waits import child as children
from geneva_drive.engine.waits.branches import Branching, Waiting
from geneva_drive.engine.waits.wait import WaitPlanned
from geneva_drive.errors import InvalidInput
from geneva_drive.serialization import typed_json
from geneva_drive.storage.schema.records import ExecutionRecord


def call(
    environment: Environment,
    execution: ExecutionRecord,
    definition: Definition,
    node: Node,
    instance: Workflow[Any, Any],
    arguments: tuple[Any, ...],
) -> Any:
    """Run a node's body; an async body returns its coroutine."""
    match node.declared:
        case AggregateStep(function=function):
            return function(instance, results_for(environment, execution, node), *arguments)
        case MapStep() | ChildMap() if not execution.is_worker:
            return _map_items(node, instance)
        case MapStep(function=function):
            return function(instance, _item_of(execution), *arguments)
        case BranchStep(step=step):
            return _branch(environment, execution, definition, step, instance)
        case Step(function=function):
            return function(instance, *arguments)
        case JobTask():
            return _call_job(environment, execution, node, instance, arguments)
        case StoredBatch(batches=batches):
            return batches
        case ChildStep(child=child) | ChildMap(child=child):
            return _await_child(environment, execution, _for_item(child, execution), instance)
        case Junction() | RemovedStep():
            return None
        case _:
            assert_never(node.declared)


def _call_job(
    environment: Environment,
    execution: ExecutionRecord,
    node: Node,
    instance: Workflow[Any, Any],
    arguments: tuple[Any, ...],
) -> Any:
    """Call a node's job; in a batch, the range or the results are added to the node's args."""
    job, args = node.job, node.job_args
    assert job is not None, "it is a task that calls one"
    passed: dict[str, Any] = {}
    if node.is_worker:
        passed, arguments = {PASSED[node.kind]: arguments[0]}, arguments[1:]
    elif node.is_aggregate:
        passed = {PASSED[node.kind]: results_for(environment, execution, node)}
    name = execution.node_id if node.is_worker else node.name
    called = JobNode(id=execution.node_id, name=name, args=args)
    return job.call({**args, **passed}, instance, called, *arguments)


def _await_child(
    environment: Environment, execution: ExecutionRecord, child: Child, instance: Workflow[Any, Any]
) -> str | None:
    """Plan to start the child; once it has ended, return its result or raise `ChildCanceled`."""
    if execution.child_id is None:
        raise WaitPlanned(children.plan(environment, execution, child, instance))
    return children.result_of(environment, execution.child_id)


def _branch(
    environment: Environment,
    execution: ExecutionRecord,
    definition: Definition,
    step: Any,
    instance: Workflow[Any, Any],
) -> Any:
    """Start or await the branches of a document's step; return its end once they have ended."""
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition
    from geneva_drive.declarative.runtime.step_end import Prepared
    from geneva_drive.declarative.steps import ParallelStep

    assert isinstance(definition, DocumentDefinition), "it is a step of a document"
    branching = Branching(environment, execution, definition, dict(instance.context))
    is_parallel = isinstance(step, ParallelStep)
    ended = branching.parallel(step) if is_parallel else branching.foreach(step)
    if isinstance(ended, Waiting):
        raise WaitPlanned(ended.plan, Prepared(ended.changes, ()))
    return ended


def _map_items(node: Node, instance: Workflow[Any, Any]) -> Any:
    """Return the items of a map: the kept result of a step, or the result of its callable."""
    if node.items_from is not None:
        return instance.result_of(node.items_from)
    return node.items.call(instance)


def _item_of(execution: ExecutionRecord) -> Any:
    return typed_json.load(BatchWorker.of(execution).item)


def _for_item(child: Child, execution: ExecutionRecord) -> Child:
    """Return a node's child; in a map, callables for its hero and context get the item too."""
    if not execution.is_worker:
        return child
    item = _item_of(execution)
    hero, context = child.hero, child.context
    return replace(
        child,
        hero=(lambda parent: hero(parent, item)) if callable(hero) else hero,
        context=(lambda parent: context(parent, item)) if callable(context) else context,
    )


def loop_of(
    environment: Environment,
    claimed: Claimed,
    definition: Definition,
    node: Node,
    early_stops: EarlyStops,
    call: Callable[[Node], Any],
) -> StepLoop | None:
    """Return the loop of a node, if it has one; raises if its cursor cannot be read.

    `call` runs a body: a worker calls that of its batch to get the query or file.
    """
    workflow, execution, iteration = claimed.workflow, claimed.execution, node.options.iteration
    if iteration is not None:
        return StepLoop(environment, workflow, execution, node, iteration, early_stops)
    if not node.is_worker:
        return None
    # In a stored graph the worker's own node has the options of the batch, and no query or file.
    batch = node if node.job is not None else definition.batch_of(node.name)
    return BatchWorkerLoop(
        environment,
        workflow,
        execution,
        node,
        early_stops,
        interval=batch.expansion.checkpoint_interval,
        source=lambda: _batches_of(batch, call),
    )


def _batches_of(batch: Node, call: Callable[[Node], Any]) -> Batches:
    """Call the body of a batch again, to get the query or file that a worker reads."""
    if batch.is_worker:
        return Batches()
    if batch.options.transaction:
        raise InvalidInput(
            f"Batch {batch.name!r} has transaction=True, so its workers cannot ask it for their "
            f"items. Remove transaction=True, or pass the items: batch.items(...)."
        )
    return require_batches(batch, call(batch))
