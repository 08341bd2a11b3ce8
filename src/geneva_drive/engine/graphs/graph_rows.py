"""Conversion of graphs to rows and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from sqlalchemy import Connection

from geneva_drive.definition.definition import Definition
from geneva_drive.definition.dynamic import job_options, jobs
from geneva_drive.definition.dynamic.stored_graph import StoredGraph
from geneva_drive.definition.dynamic.stored_node import StoredArgs, StoredNode
from geneva_drive.storage.schema.records import GraphNodeRecord, GraphRecord, JoinRecord, Key
from geneva_drive.storage.statements.graphs import dump_ids, load_ids
from geneva_drive.storage.store import Store


def graph_row(
    workflow_id: Key, graph: StoredGraph, template: str | None = None, *, done: int = 0
) -> GraphRecord:
    return GraphRecord(
        workflow_id=workflow_id,
        signature=graph.signature,
        template=template,
        frozen_at=graph.frozen_at,
        total=len(graph.nodes),
        remaining=len(graph.nodes) - done,
    )


def join_rows(
    workflow_id: Key, graph: StoredGraph, done: Collection[str] = ()
) -> Iterator[JoinRecord]:
    """Yield a counter row for each node with several dependencies; those in `done` are met."""
    for node in graph.nodes.values():
        if len(node.depends_on) > 1:
            unmet = sum(parent not in done for parent in node.depends_on)
            yield JoinRecord(workflow_id=workflow_id, node_id=node.id, unmet=unmet)


def node_rows(
    workflow_id: Key, graph: StoredGraph, scheduling: Mapping[str | None, str | None]
) -> Iterator[GraphNodeRecord]:
    """Yield a row for each node, with its edges in both directions."""
    dependants = dependants_of(graph.nodes)
    for position, node in enumerate(graph.nodes.values()):
        yield GraphNodeRecord(
            workflow_id=workflow_id,
            node_id=node.id,
            position=position,
            name=node.name,
            job=node.job,
            args=None if node.job is None else node.args_text,
            depends_on=dump_ids(node.depends_on),
            dependants=dump_ids(dependants.get(node.id, ())),
            dependency_count=len(node.depends_on),
            scheduling=job_options.with_own(
                scheduling.get(node.job),
                keep=node.keep_result,
                part=node.part,
                checkpoint_interval=node.checkpoint_interval,
            ),
        )


def scheduling_of(
    graph: StoredGraph, stored: Mapping[str, str] = MappingProxyType({})
) -> dict[str | None, str | None]:
    """Return, by job name, the scheduling options to store; unknown jobs keep the stored ones."""
    named = {node.job for node in graph.nodes.values() if node.job is not None}
    known = {name: job for name in named if (job := jobs.get(name)) is not None}
    return {
        name: known[name].scheduling.dump()
        if name in known
        # The stored text may include options of a single node, which `with_own` resets.
        else job_options.with_own(stored.get(name))
        for name in named
    }


def dependants_of(nodes: Mapping[str, StoredNode]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for node in nodes.values():
        for parent in node.depends_on:
            found[parent].append(node.id)
    return found


def stored_graph(connection: Connection, store: Store, workflow_id: Key) -> StoredGraph | None:
    record = store.graphs.get(connection, workflow_id)
    if record is None:
        return None
    rows = store.graphs.nodes_of(connection, workflow_id)
    return StoredGraph(
        nodes={row.node_id: _node(row) for row in rows},
        signature=record.signature,
        frozen_at=record.frozen_at,
    )


def _node(row: GraphNodeRecord) -> StoredNode:
    own = job_options.of_row(row.scheduling)
    return StoredNode(
        row.node_id,
        row.name,
        row.job,
        StoredArgs(row.args or "{}"),
        tuple(load_ids(row.depends_on)),
        own.keeps_result,
        own.part,
        own.checkpoint_interval,
    )


def of_class(definition: Definition, now: datetime) -> StoredGraph:
    """Return a class's graph in the form that is stored."""
    nodes = {}
    for name in definition.graph.order:
        node = definition.require(name)
        job = node.job.name if node.job else None
        keeps_own = node.job is not None and node.options.keep_result
        args = dict(node.job_args)
        nodes[name] = StoredNode(name, name, job, args, node.depends_on, keeps_own)
    return StoredGraph.freeze(nodes, now)
