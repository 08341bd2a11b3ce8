"""Dynamic graphs: count down unmet dependencies, and plan the nodes that have none left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.definition.dynamic import job_options, jobs
from geneva_drive.definition.dynamic.dynamic_workflow import DYNAMIC
from geneva_drive.definition.dynamic.node_arguments import BATCH_JOB
from geneva_drive.definition.dynamic.stored_batch import StoredBatch
from geneva_drive.definition.dynamic.stored_node import StoredArgs
from geneva_drive.engine.graphs.summary import Successors
from geneva_drive.engine.transitions.change import NewExecution
from geneva_drive.engine.transitions.planned_executions import ancestry_hash
from geneva_drive.storage.schema.records import (
    GraphNodeRecord,
    Key,
    NodeKey,
    NodeOutline,
    WorkflowRecord,
)
from geneva_drive.storage.statements.graphs import load_ids
from geneva_drive.storage.store import Store

NodeRow = GraphNodeRecord | NodeOutline
_DEFAULT_QUEUE = "default"


@dataclass(frozen=True, slots=True)
class DoneNode:
    """A done node of a dynamic workflow, with its row if that was read already."""

    ancestry_hash: str | None
    stored: GraphNodeRecord | None = None


@dataclass(frozen=True, slots=True)
class DoneNodes:
    """The done nodes of one dynamic workflow, by id."""

    workflow: WorkflowRecord
    nodes: Mapping[str, DoneNode]


def count_down(
    connection: Connection, store: Store, done: Sequence[DoneNodes], now: datetime
) -> list[Successors]:
    """Decrement the dependants' counts of unmet dependencies; plan the nodes that reach 0.

    The cost grows with the dependants of the done nodes, not with the size of the graph.
    """
    hashes = {
        (one.workflow.id, node_id): node.ancestry_hash
        for one in done
        for node_id, node in one.nodes.items()
    }
    met, parents = _met(connection, store, done)
    store.graphs.pass_nodes(connection, {one.workflow.id: len(one.nodes) for one in done})
    ready = _ready(connection, store, met)
    parent_hashes = _parent_hashes(connection, store, ready, parents, hashes)
    has_dependants = {key for key, _ in met}
    last = [one.workflow.id for one in done if one.workflow.id not in has_dependants]
    over = store.graphs.finished(connection, last) if last else set()
    return [
        Successors(
            schedule=tuple(
                plan_stored_node(
                    one.workflow, node, now, parent_hashes[one.workflow.id, node.node_id]
                )
                for node in ready.get(one.workflow.id, ())
            ),
            is_over=one.workflow.id in over,
        )
        for one in done
    ]


def _met(
    connection: Connection, store: Store, done: Sequence[DoneNodes]
) -> tuple[Counter[NodeKey], dict[NodeKey, str]]:
    """Return for each dependant how many dependencies were just met, and the id of one of them."""
    unknown = [
        (one.workflow.id, node_id)
        for one in done
        for node_id, node in one.nodes.items()
        if node.stored is None
    ]
    read = store.graphs.nodes(connection, unknown) if unknown else {}
    known = (node.stored for one in done for node in one.nodes.values())
    rows = [*filter(None, known), *read.values()]
    # Nodes of a fan-out store equal texts, so each distinct text is parsed once.
    below = {text: load_ids(text) for text in {node.dependants for node in rows}}
    met: Counter[NodeKey] = Counter()
    parents = {}
    for node in rows:
        for each in below[node.dependants]:
            met[node.workflow_id, each] += 1
            parents[node.workflow_id, each] = node.node_id
    return met, parents


def _ready(
    connection: Connection, store: Store, met: Mapping[NodeKey, int]
) -> dict[Key, list[NodeRow]]:
    """Decrement the counts of joins; return the nodes without unmet dependencies."""
    ready: dict[Key, list[NodeRow]] = defaultdict(list)
    if not met:
        return ready
    joins: dict[NodeKey, int] = {}
    for found in store.graphs.dependants(connection, met):
        key = found.workflow_id, found.node.node_id
        if found.unmet is not None:
            joins[key] = met[key]
        # The workers of a batch are planned by its expansion.
        if (found.unmet or 1) <= met[key] and not job_options.is_worker(found.node.scheduling):
            ready[found.workflow_id].append(found.node)
    store.graphs.meet(connection, joins)
    return ready


def _parent_hashes(
    connection: Connection,
    store: Store,
    ready: Mapping[Key, Sequence[NodeRow]],
    parents: Mapping[NodeKey, str],
    known: Mapping[NodeKey, str | None],
) -> dict[NodeKey, list[str | None]]:
    """Return the ancestry hashes of each ready node's parents."""
    parent_ids: dict[NodeKey, list[str]] = {}
    joins = []  # nodes whose parents are not known yet
    for key, nodes in ready.items():
        for node in nodes:
            if node.dependency_count <= 1:
                parent_ids[key, node.node_id] = [parents[key, node.node_id]]
            elif isinstance(node, GraphNodeRecord):
                parent_ids[key, node.node_id] = load_ids(node.depends_on)
            else:
                joins.append((key, node.node_id))
    if joins:
        found = store.graphs.nodes(connection, joins)
        parent_ids |= {join: load_ids(node.depends_on) for join, node in found.items()}
    wanted = {(key, parent) for (key, _), ids in parent_ids.items() for parent in ids}
    unknown = wanted - known.keys()
    hashes = {**known, **store.attempts.ancestry_hashes(connection, unknown)}
    return {
        (key, node_id): [hashes.get((key, parent)) for parent in ids]
        for (key, node_id), ids in parent_ids.items()
    }


def worker_of(node: GraphNodeRecord) -> str | None:
    """Return the id of a batch's worker node, given the batch or that node; None for others."""
    if node.job == BATCH_JOB:
        return StoredBatch(node.name, StoredArgs(node.args or "{}"), node.name).worker
    return node.node_id if job_options.is_worker(node.scheduling) else None


def plan_stored_node(
    workflow: WorkflowRecord,
    node: NodeRow,
    now: datetime,
    parents: Iterable[str | None] = (),
) -> NewExecution:
    """Plan a stored node's first execution.

    The options of its job schedule it. A process without the job uses the stored options.
    """
    job = jobs.get(node.job or "")
    kept = job_options.load(node.scheduling) if node.scheduling else job_options.UNKNOWN
    rules = job.scheduling if job else kept
    return NewExecution(
        step_name=node.name,
        node_id=node.node_id,
        signature=DYNAMIC.signature,
        queue=workflow.queue or rules.queue or _DEFAULT_QUEUE,
        priority=(rules.priority or 0) if workflow.priority is None else workflow.priority,
        scheduled_for=now + rules.wait,
        is_limited=rules.is_limited,
        slot=node.node_id,
        ancestry_hash=ancestry_hash(node.node_id, parents),
        attempt=1,
        stored=node if isinstance(node, GraphNodeRecord) else None,
    )
