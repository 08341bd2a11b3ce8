"""The commands that store a workflow's graph and replace a stored one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.dynamic.stored_graph import StoredGraph
from geneva_drive.definition.dynamic.stored_node import StoredNode
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow
from geneva_drive.engine.graphs import graph_rows
from geneva_drive.engine.graphs.dependency_counts import plan_stored_node
from geneva_drive.engine.graphs.node_states import status_of_all
from geneva_drive.engine.graphs.successors import plan_graph_node
from geneva_drive.engine.transitions.batch_workers import graph_node_id
from geneva_drive.engine.transitions.change import Change, NewExecution, WorkflowMove, unchanged
from geneva_drive.engine.transitions.holds import cancel_executions
from geneva_drive.engine.transitions.partitions import latest_attempts
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    Request,
    WorkflowState,
    is_done,
)
from geneva_drive.storage.schema.expansion_record import expansion_of
from geneva_drive.storage.schema.records import ExecutionRecord, Key, NodeOutline
from geneva_drive.storage.store import Store


def freeze(
    connection: Connection, store: Store, subject: CommandedWorkflow, definition: Definition
) -> Change:
    """Store the class's graph for one workflow, which follows the stored graph from then on."""
    workflow = subject.workflow
    if workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refusal("freeze the graph of")
    change = Change(record=workflow, workflow=unchanged(workflow), freezes_graph=True)
    if workflow.has_graph:
        return change
    _refuse_gone_back(subject, definition)
    graph = graph_rows.of_class(definition, subject.now)
    done = {one.node_id for one in subject.attempts if is_done(one.state, one.outcome)}
    store.graphs.insert(
        connection,
        graph_rows.graph_row(workflow.id, graph, done=len(done & set(graph.nodes))),
        graph_rows.node_rows(workflow.id, graph, graph_rows.scheduling_of(graph)),
        graph_rows.join_rows(workflow.id, graph, done),
    )
    return change


def _refuse_gone_back(subject: CommandedWorkflow, definition: Definition) -> None:
    """Raise an error if a chain went back before steps that ran: a graph counts them as done."""
    present = subject.workflow.next_step_name
    if definition.is_graph or present is None:
        return
    tried = {one.step_name for one in subject.attempts}
    following = definition.after(present)
    while following is not None:
        if following.name in tried:
            raise InvalidStateError(
                f"Cannot freeze the graph of this workflow: it has gone back to {present!r}, and "
                f"{following.name!r} after that has run already. Freeze it once it is past that "
                f"step, or start another workflow."
            )
        following = definition.after(following.name)


def replace_graph(
    connection: Connection,
    store: Store,
    subject: CommandedWorkflow,
    document: str | Mapping[str, Any],
    limit: int,
) -> Change:
    """Replace the workflow's stored graph with an edited one.

    `limit` is the maximum size of a node's arguments.
    """
    workflow = subject.workflow
    if not workflow.has_graph:
        raise InvalidStateError(
            "This workflow follows the graph of its class and has no stored graph to replace. "
            "Store one with freeze_dag() first."
        )
    if workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refusal("import a graph into")
    if subject.running:
        raise subject.refusal(
            "import a graph into", " Pause it, and import when the running nodes have ended."
        )
    former = store.graphs.get(connection, workflow.id)
    assert former is not None, "has_graph says so"
    graph = replace(StoredGraph.parse(document).within(limit), frozen_at=former.frozen_at)
    tried = store.attempts.latest_of(connection, workflow.id)
    latest = _latest(subject, tried) | _expanded(connection, store, workflow.id)
    done = {key for key, one in latest.items() if is_done(one.state, one.outcome)}
    _check(graph, latest, done)
    row = graph_rows.graph_row(workflow.id, graph, former.template, done=len(done))
    # This process may lack the graph's jobs.
    stored = store.graphs.scheduling_of_jobs(connection, workflow.id)
    scheduling = graph_rows.scheduling_of(graph, stored)
    nodes = graph_rows.node_rows(workflow.id, graph, scheduling)
    store.graphs.replace(connection, row, nodes, graph_rows.join_rows(workflow.id, graph, done))
    return _continue(subject, graph, latest, done, scheduling)


def _latest(
    subject: CommandedWorkflow, attempts: Iterable[ExecutionRecord]
) -> dict[str, ExecutionRecord]:
    """Return the latest attempt at each node; for a divided step, an unfinished one if there is."""
    by_node: dict[str, list[ExecutionRecord]] = {}
    for one in attempts:
        by_node.setdefault(_id_of(subject, one), []).append(one)
    latest = {}
    for node_id, records in by_node.items():
        undone_first = sorted(
            latest_attempts(records), key=lambda one: is_done(one.state, one.outcome)
        )
        if undone_first:
            latest[node_id] = undone_first[0]
    return latest


def _expanded(connection: Connection, store: Store, workflow_id: Key) -> dict[str, ExecutionRecord]:
    """Return one attempt per batch or map, with the state of all its workers."""
    workers = store.expansions.workers(connection, workflow_id)
    firsts = {expansion_of(one.share): (workflow_id, one.node_id) for one in workers}
    expansions = store.expansions.of(connection, workflow_id)
    found = {}
    for record in store.attempts.latest(connection, list(firsts.values())):
        key = graph_node_id(record)
        # A batch that was skipped has one idle worker and no counts.
        found[key] = record._replace(node_id=key)
        if key in expansions:
            status = status_of_all(expansions[key])
            found[key] = found[key]._replace(state=status.state, outcome=status.outcome)
    return found


def _id_of(subject: CommandedWorkflow, record: ExecutionRecord) -> str:
    if record.is_worker:
        return graph_node_id(record)
    return record.node_id if subject.nodes is None else subject.nodes.id_of(record)


def _check(graph: StoredGraph, latest: Mapping[str, ExecutionRecord], done: set[str]) -> None:
    for node_id in sorted(done - set(graph.nodes)):
        raise InvalidInput(
            f"Node {latest[node_id].step_name!r} ({node_id}) is done, but the new graph does not "
            f"have it. Keep each done node under its id."
        )
    for node_id, one in latest.items():
        node = graph.nodes.get(node_id)
        if node is None and one.is_worker:
            raise InvalidInput(
                f"Node {one.step_name!r} has workers that are not done, but the new graph does not "
                f"have it. Keep it under its id, {node_id!r}."
            )
        unmet = [p for p in node.depends_on if p not in done] if node else []
        if unmet:
            raise InvalidInput(
                f"Node {one.step_name!r} ({node_id}) is {one.state} and cannot depend on "
                f"{graph.nodes[unmet[0]].name!r}, which is not done."
            )
    for node in graph.nodes.values():
        if node.part is NodeKind.WORKER and node.id not in latest and done & {*node.depends_on}:
            raise InvalidInput(
                f"Node {node.name!r} ({node.id}) is a new batch worker of a node that is done. A "
                f"done node cannot become a batch: add the batch as new nodes."
            )


def _continue(
    subject: CommandedWorkflow,
    graph: StoredGraph,
    latest: Mapping[str, ExecutionRecord],
    done: set[str],
    scheduling: Mapping[str | None, str | None],
) -> Change:
    workflow = subject.workflow
    gone = [one for one in subject.active if _id_of(subject, one) not in graph.nodes]
    ready = [
        node
        for node in graph.nodes.values()
        if node.id not in latest and all(parent in done for parent in node.depends_on)
    ]
    moved = unchanged(workflow, paused_step_name=_paused_step_name(subject, graph, latest))
    if len(done) == len(graph.nodes):
        moved = WorkflowMove(
            state=WorkflowState.FINISHED,
            next_step_name=None,
            previous_step_name=workflow.previous_step_name,
        )
    is_held = workflow.state is WorkflowState.PAUSED
    hashes = {key: one.ancestry_hash for key, one in latest.items()}
    return Change(
        record=workflow,
        workflow=moved,
        executions=cancel_executions(gone),
        schedule=tuple(
            _planned(subject, node, hashes, scheduling.get(node.job), is_held=is_held)
            for node in ready
        ),
    )


def _paused_step_name(
    subject: CommandedWorkflow, graph: StoredGraph, latest: Mapping[str, ExecutionRecord]
) -> str | None:
    """Return the name of the node that the workflow is paused at, which may be a new one."""
    former = subject.workflow.paused_step_name
    if subject.workflow.type != DYNAMIC_TYPE:
        return former  # the nodes of a class are known by their ids
    names = (
        graph.nodes[key].name
        for key, one in latest.items()
        if one.step_name == former and key in graph.nodes
    )
    return next(names, former)


def _planned(
    subject: CommandedWorkflow,
    node: StoredNode,
    hashes: Mapping[str, str | None],
    scheduling: str | None,
    *,
    is_held: bool,
) -> NewExecution:
    workflow, now = subject.workflow, subject.now
    parents = [hashes.get(parent) for parent in node.depends_on]
    definition = subject.definition
    if workflow.type == DYNAMIC_TYPE or definition is None:
        outline = NodeOutline.of_entry(node.id, node.name, node.job, scheduling)
        planned = plan_stored_node(workflow, outline, now, parents)
    else:
        planned = plan_graph_node(definition, workflow, node.id, now, parents)
    return replace(planned, stop=Request.PAUSE if is_held else None)
