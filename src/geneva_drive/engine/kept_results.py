"""Read the kept results of nodes and of whole workflows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection

from geneva_drive.checks import text_fault
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.dynamic import job_options, jobs
from geneva_drive.definition.dynamic.node_arguments import BATCH_JOB
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.waits.approval_decision import ApprovalDecision
from geneva_drive.definition.waits.event import Callback, Event
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, NodeNotFound, StepNotDefined
from geneva_drive.serialization import typed_json
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.expansion_record import expansion_of
from geneva_drive.storage.schema.records import ExecutionRecord, Key, NodeOutline, WorkflowRecord
from geneva_drive.storage.statements.expansions import WorkerResult
from geneva_drive.storage.statements.graphs import load_ids
from geneva_drive.storage.store import Store

OpenStore = Callable[[], Store]


DoneStep = tuple[str | None, str | None]  # its result as typed JSON, and its share


def of_workflows(
    connection: Connection, store: Store, workflows: Sequence[WorkflowRecord]
) -> dict[Key, str | None]:
    """Return the results of a page of workflows, with one statement for all without a map."""
    finished = [one for one in workflows if one.state is WorkflowState.FINISHED]
    done = store.listed_facts.results(connection, finished)
    return {
        one.id: of_workflow(connection, store, one, done.get(one.id, (None, None)))
        for one in workflows
    }


def of_workflow(
    connection: Connection, store: Store, workflow: WorkflowRecord, done: DoneStep | None = None
) -> str | None:
    """Return a workflow's result as typed JSON: the result of the step that was done last.

    `self.finish(result=...)` stores its result with its step, which is then the last one. So no
    completion has to write to a column of the workflow. The result of a map is the list of its
    results. Pass `done` if the last step was read before.
    """
    if workflow.definition_signature is not None:
        # A document's last step stores this result; a step that was passed over stores none.
        is_over = workflow.state is WorkflowState.FINISHED
        return typed_json.dump(workflow.result or "executed") if is_over else None
    last = workflow.previous_step_name
    if workflow.state is not WorkflowState.FINISHED or last is None:
        return None
    result, share = done or store.results.of_done_step(connection, workflow.id, last)
    node_id = expansion_of(share)
    if node_id is None:
        return result
    if not store.expansions.of(connection, workflow.id)[node_id].is_over:
        return result  # this worker itself finished the workflow
    rows = store.expansions.results(connection, workflow.id, node_id)
    return f"[{','.join(row.result or 'null' for row in rows)}]"


def of_nodes(
    open_store: OpenStore,
    workflow: WorkflowRecord,
    definition: Definition | None,
    wanted: Iterable[object],
) -> list[Any]:
    """Return the kept results of nodes, None for one that has not run.

    `wanted` may also be one map or batch worker: then this returns its results, in the order of
    the items. Raises an error for an unknown node, and for one that keeps no result.
    """
    expanded = (
        _stored_workers(open_store, workflow, wanted)
        if workflow.type == DYNAMIC_TYPE
        else _expanded(definition, wanted)
    )
    if expanded is not None:
        return _of_expansion(open_store(), workflow.id, expanded)
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise InvalidInput(
            f"results_of() takes a list of nodes, got {shown(wanted)}. result_of() reads one node."
        )
    references = list(wanted)
    if workflow.type == DYNAMIC_TYPE:
        ids = [_name(workflow, reference) for reference in references]
        store = open_store()
        texts = store.read(lambda connection: _of_stored(connection, store, workflow.id, ids))
        return [typed_json.load(text) for text in texts]
    nodes = [_node(definition, reference) for reference in references]
    for node in nodes:
        if node is not None and (node.is_map or node.is_worker):
            raise InvalidInput(
                f"{node.kind.noun.capitalize()} {node.name!r} keeps a result per item: read them "
                f"with results_of({node.name!r})."
            )
    names = [_names(workflow, node, one) for node, one in zip(nodes, references, strict=True)]
    store = open_store()
    texts = store.read(lambda connection: _latest(connection, store, workflow.id, names))
    return [_value(node, text) for node, text in zip(nodes, texts, strict=True)]


def _stored_workers(
    open_store: OpenStore, workflow: WorkflowRecord, wanted: object
) -> tuple[str, ...] | None:
    """Return the id of a stored batch's worker, if that is wanted; None for anything else."""
    if not isinstance(wanted, str):
        return None
    store, name = open_store(), _name(workflow, wanted)
    found = store.read(lambda c: store.graphs.find_many(c, workflow.id, [name]))
    if name not in found:
        raise NodeNotFound(workflow.id, name)
    return (found[name].node_id,) if job_options.is_worker(found[name].scheduling) else None


def _expanded(definition: Definition | None, wanted: object) -> tuple[str, ...] | None:
    """Return the names of the wanted map or batch worker; None for anything else."""
    if definition is None or isinstance(wanted, list | tuple | set | dict):
        return None
    try:
        node = definition.require(wanted)
    except StepNotDefined:
        return None
    return definition.require_result(wanted).names if node.is_map or node.is_worker else None


def _of_expansion(store: Store, workflow_id: Key, names: Sequence[str]) -> list[Any]:
    """Return the results of the workers of a node, which may have been renamed meanwhile."""

    def read(connection: Connection) -> list[WorkerResult]:
        expansions = store.expansions.of(connection, workflow_id)
        known = [name for name in names if name in expansions]
        return store.expansions.results(connection, workflow_id, known[0]) if known else []

    return [typed_json.load(row.result) for row in store.read(read)]


def received(node: Node, value: Any) -> Event | Callback | list[Event]:
    """Return the events or the callback that a wait received, from the stored value."""
    if node.kind is NodeKind.CALLBACK:
        return Callback.read(value)
    return [Event.read(each) for each in value] if isinstance(value, list) else Event.read(value)


def _value(node: Node | None, text: str | None) -> Any:
    """Return a stored result; for an approval, its decision."""
    value = typed_json.load(text)
    if value is None or node is None:
        return value
    if node.is_event_wait:
        return received(node, value)
    if not node.is_approval:
        return value
    return ApprovalDecision.read(value, node.terms.form, node.name)


def stored_dependencies(store: Store, execution: ExecutionRecord) -> list[str]:
    """Return the ids of the nodes that a dynamic workflow's node depends on."""
    key = execution.workflow_id, expansion_of(execution.share) or execution.node_id
    [node] = store.read(lambda connection: store.graphs.nodes(connection, [key])).values()
    return load_ids(node.depends_on)


def _name(workflow: WorkflowRecord, reference: object) -> str:
    if not isinstance(reference, str) or text_fault(reference):
        raise NodeNotFound(workflow.id, reference)
    return reference


def _node(definition: Definition | None, reference: object) -> Node | None:
    """Return a class's node that keeps its result; None if this process lacks the class."""
    return None if definition is None else definition.require_result(reference)


def _names(workflow: WorkflowRecord, node: Node | None, reference: object) -> tuple[str, ...]:
    """Return the names under which a class's node may have kept its result."""
    if node is None:
        return (_name(workflow, reference),)
    former = node.options.renamed_from
    return (node.name, former) if former else (node.name,)


def _of_stored(
    connection: Connection, store: Store, workflow_id: Key, references: Sequence[str]
) -> list[str | None]:
    nodes = store.graphs.find_many(connection, workflow_id, references)
    for reference in references:
        if reference not in nodes:
            raise NodeNotFound(workflow_id, reference)
    wanted = [(nodes[reference].node_id,) for reference in references]
    texts = _latest(connection, store, workflow_id, wanted)
    for reference, text in zip(references, texts, strict=True):
        if text is None:
            _check_keeps(nodes[reference])
    return texts


def _latest(
    connection: Connection, store: Store, workflow_id: Key, wanted: Sequence[tuple[str, ...]]
) -> list[str | None]:
    found: dict[tuple[str, ...], str] = {}
    by_name = {name: names for names in wanted for name in names}
    for name, text in store.results.of_nodes(connection, workflow_id, list(by_name)):
        found[by_name[name]] = text  # the latest comes last
    return [found.get(names) for names in wanted]


def _check_keeps(node: NodeOutline) -> None:
    """Raise an error if a node without a result can never have one, as far as we know."""
    if node.job is None:
        raise InvalidInput(f"Node {node.name!r} keeps no result: it has no job.")
    own = job_options.of_row(node.scheduling)
    if node.job == BATCH_JOB:
        raise InvalidInput(f"Batch {node.name!r} keeps no result. Its worker and its aggregate do.")
    if own.part is NodeKind.WORKER:
        raise InvalidInput(
            f"Batch worker {node.name!r} keeps a result per range: read them with "
            f"results_of({node.name!r})."
        )
    job = jobs.get(node.job)
    if job is None or job.options.keep_result or own.keeps_result or own.part is not None:
        return  # a job that this process lacks may keep results
    raise InvalidInput(
        f"Node {node.name!r} keeps no result. Add it with keep_result=True, as in "
        f"w.node(..., keep_result=True) or w.fan_out(..., keep_result=True)."
    )
