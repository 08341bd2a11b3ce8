"""Decide what follows when nodes of a graph end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.nodes import event_wait
from geneva_drive.definition.nodes.approval import branches
from geneva_drive.engine.graphs.combined_change import change_after
from geneva_drive.engine.graphs.dependency_counts import DoneNode, DoneNodes, count_down
from geneva_drive.engine.graphs.expansions import settle_expansions
from geneva_drive.engine.graphs.node_states import NodeStatus, id_in_graph, node_statuses, unlock
from geneva_drive.engine.graphs.summary import Hold, NodeEnd, Successors, Summary, summarize
from geneva_drive.engine.transitions.change import Change, NewExecution
from geneva_drive.engine.transitions.planned_batch_workers import plan_idle_worker
from geneva_drive.engine.transitions.planned_executions import (
    ancestry_hash,
    plan_node,
    plan_unknown_node,
)
from geneva_drive.states import Outcome, StepState
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.statements.graphs import load_ids
from geneva_drive.storage.store import Store


def settle(
    connection: Connection,
    store: Store,
    workflow: WorkflowRecord,
    ends: Sequence[NodeEnd],
    now: datetime,
) -> Change:
    """Return the change that follows from the ends of nodes; the workflow is locked."""
    has_partitions = any(end.execution.is_partition for end in ends)
    partitions = (
        store.executions.lock_partitions(connection, [workflow.id]) if has_partitions else []
    )
    found = summarize(workflow, ends, now, partitions)
    settle_expansions(connection, store, found, now)
    following = Successors()
    if found.done and found.closing is None:
        if workflow.type == DYNAMIC_TYPE:
            passed = [DoneNodes(workflow, _done_nodes(found, ends))]
            [following] = count_down(connection, store, passed, now)
        else:
            following = _following(connection, store, found, ends, now)
    elif workflow.type == DYNAMIC_TYPE and found.done_count:
        # The workflow ends or has ended, so nothing follows; the nodes still count as done.
        store.graphs.pass_nodes(connection, {workflow.id: found.done_count})
    if found.is_plain and not following.is_over:
        return change_after(found, following, ())
    active = store.executions.lock_active(connection, workflow.id)
    return change_after(found, following, [one for one in active if one.id not in found.moves])


def _following(
    connection: Connection, store: Store, found: Summary, ends: Sequence[NodeEnd], now: datetime
) -> Successors:
    definition = next((end.definition for end in ends if end.definition is not None), None)
    if definition is not None:
        return _class_successors(connection, store, found, definition, now)
    # A process without the class gave up on the last worker of a batch. `resume` continues there.
    found.hold = found.hold or Hold(
        f"Its last worker was lost, and the process that noticed this does not have the class "
        f"{found.workflow.type!r}.",
        found.last_step_name,
    )
    return Successors()


def _done_nodes(found: Summary, ends: Sequence[NodeEnd]) -> dict[str, DoneNode]:
    # The stored node of a worker is that of its whole batch, which may be done as well.
    stored = {end.stored.node_id: end.stored for end in ends if end.stored is not None}
    return {
        move.record.node_id: DoneNode(move.record.ancestry_hash, stored.get(move.record.node_id))
        for move in found.done
    }


def _class_successors(
    connection: Connection,
    store: Store,
    found: Summary,
    definition: Definition,
    now: datetime,
) -> Successors:
    """Plan successors from the status of every node; class graphs are small."""
    attempts = store.attempts.latest_of(connection, found.workflow.id)
    graph = graph_of(connection, store, found.workflow, definition)
    expansions = store.expansions.of(connection, found.workflow.id) if definition.expands else {}
    statuses = node_statuses(definition, graph, attempts, expansions)
    for move in found.done:
        statuses[id_in_graph(definition, graph, move.record.step_name)] = NodeStatus(
            state=move.state,
            outcome=move.outcome,
            ancestry_hash=move.record.ancestry_hash,
            chosen=move.chosen,
        )
    following = plan_successors(definition, graph, found.workflow, statuses, now)
    # All attempts were just read under the lock, so the writer need not count them again.
    numbers = {one.node_id: one.attempt_number for one in attempts}
    numbered = (replace(new, attempt=numbers.get(new.node_id, 0) + 1) for new in following.schedule)
    return replace(following, schedule=tuple(numbered))


def graph_of(
    connection: Connection, store: Store, workflow: WorkflowRecord, definition: Definition
) -> Graph:
    """Return the graph of a class-based workflow: its stored graph, or else its class's."""
    if not workflow.has_graph:
        return definition.graph
    nodes = store.graphs.nodes_of(connection, workflow.id)
    return Graph.of({node.node_id: load_ids(node.depends_on) for node in nodes})


def plan_successors(
    definition: Definition,
    graph: Graph,
    workflow: WorkflowRecord,
    statuses: Mapping[str, NodeStatus],
    now: datetime,
) -> Successors:
    """Plan the nodes whose dependencies are met, and those on branches that were not chosen."""
    statuses = {
        name: _with_branches(definition, graph, name, one) for name, one in statuses.items()
    }
    planned = _idle_workers(definition, graph, workflow, statuses, now)
    unlocked = unlock(graph, statuses)
    hashes = {name: one.ancestry_hash for name, one in statuses.items() if one.is_done}
    for name in (*unlocked.passed_over, *unlocked.ready):
        parents = [hashes.get(parent) for parent in graph.parents[name]]
        new = plan_graph_node(definition, workflow, name, now, parents)
        if name in unlocked.passed_over:
            by_branch = Outcome.SKIPPED_BY_BRANCH
            new = replace(new, state=StepState.SKIPPED, outcome=by_branch, scheduled_for=now)
        hashes[name] = new.ancestry_hash
        planned.append(new)
    return Successors(schedule=tuple(planned), is_over=unlocked.is_over)


def _idle_workers(
    definition: Definition,
    graph: Graph,
    workflow: WorkflowRecord,
    statuses: dict[str, NodeStatus],
    now: datetime,
) -> list[NewExecution]:
    """Plan the idle workers of batches that were skipped unexpanded, and count them as done."""
    planned = []
    for node in definition.nodes:
        if not node.is_worker or node.name in statuses or node.name not in graph.parents:
            continue
        batch = statuses.get(definition.batch_of(node.name).name)
        if batch is None or not batch.is_done or batch.outcome is Outcome.SKIPPED_BY_BRANCH:
            continue
        worker = plan_graph_node(definition, workflow, node.name, now, [batch.ancestry_hash])
        idle = plan_idle_worker(replace(worker, scheduled_for=now), node.name)
        # No expansion counts workers here, so this execution represents the whole node.
        known = ancestry_hash(idle.node_id, [batch.ancestry_hash])
        planned.append(replace(idle, share=None, ancestry_hash=known))
        statuses[node.name] = NodeStatus(
            state=StepState.COMPLETED, outcome=Outcome.SUCCESS, ancestry_hash=known
        )
    return planned


def _with_branches(
    definition: Definition, graph: Graph, name: str, status: NodeStatus
) -> NodeStatus:
    """Return the status with the branches of a skipped approval or event wait.

    A skipped approval counts as approved, a skipped wait as not timed out.
    """
    node = definition.get(name)
    if node is None or status.chosen is not None or not status.is_done:
        return status
    if node.is_event_wait:
        chosen = event_wait.branches(definition, node, timed_out=False)
    elif node.is_approval:
        chosen = branches(definition, node, rejected=False, expired=False)
    else:
        return status
    if chosen is None:
        return status
    present = (id_in_graph(definition, graph, one) for one in chosen)
    return replace(status, chosen=tuple(present))


def plan_graph_node(
    definition: Definition,
    workflow: WorkflowRecord,
    name: str,
    now: datetime,
    parents: Iterable[str | None],
) -> NewExecution:
    """Plan the first execution of a node of a class's graph."""
    node = definition.get(name)
    if node is not None:
        new = plan_node(definition, workflow, node, now + node.options.wait, parents)
        return replace(new, slot=name, ancestry_hash=ancestry_hash(name, parents))
    # A stored graph can name a node that the class no longer has.
    return replace(plan_unknown_node(definition, workflow, name, now, parents), slot=name)
