"""Dynamic graphs: count down unmet dependencies, and plan the nodes that have none left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.definition.dynamic import job_scheduling, jobs
from geneva_drive.definition.dynamic.run import DYNAMIC
from geneva_drive.engine.graphs.summary import Successors
from geneva_drive.engine.transitions.ancestry import ancestry_hash
from geneva_drive.engine.transitions.change import NewExecution
from geneva_drive.storage.schema.records import (
    GraphNodeRecord,
    Key,
    NodeKey,
    NodeOutline,
    WorkflowRecord,
)
from geneva_drive.storage.statements.graphs import load_ids
from geneva_drive.storage.store import Store

StoredNode = GraphNodeRecord | NodeOutline
_DEFAULT_QUEUE = "default"


@dataclass(frozen=True, slots=True)
class DoneNode:
    """A node of a dynamic workflow that is done; its row, where it is at hand."""

    ancestry_hash: str | None
    stored: GraphNodeRecord | None = None


@dataclass(frozen=True, slots=True)
class DoneNodes:
    """Nodes of a dynamic workflow that are done, by id."""

    workflow: WorkflowRecord
    nodes: Mapping[str, DoneNode]


def count_down(
    connection: Connection, store: Store, passed: Sequence[DoneNodes], now: datetime
) -> list[Successors]:
    """Count down what the dependants of done nodes wait for: never more than is touched."""
    hashes = {
        (one.workflow.id, node_id): node.ancestry_hash
        for one in passed
        for node_id, node in one.nodes.items()
    }
    met, parents = _met(connection, store, passed)
    store.graphs.pass_nodes(connection, {one.workflow.id: len(one.nodes) for one in passed})
    ready = _ready(connection, store, met)
    above = _hashes_above(connection, store, ready, parents, hashes)
    growing = {key for key, _ in met}
    ended = [one.workflow.id for one in passed if one.workflow.id not in growing]
    over = store.graphs.finished(connection, ended) if ended else set()
    return [
        Successors(
            schedule=tuple(
                plan_stored_node(one.workflow, node, now, above[one.workflow.id, node.node_id])
                for node in ready.get(one.workflow.id, ())
            ),
            is_over=one.workflow.id in over,
        )
        for one in passed
    ]


def _met(
    connection: Connection, store: Store, passed: Sequence[DoneNodes]
) -> tuple[Counter[NodeKey], dict[NodeKey, str]]:
    """Count for each dependant how many of its dependencies these are, and name one of them."""
    unknown = [
        (one.workflow.id, node_id)
        for one in passed
        for node_id, node in one.nodes.items()
        if node.stored is None
    ]
    read = store.graphs.nodes(connection, unknown) if unknown else {}
    known = (node.stored for one in passed for node in one.nodes.values())
    done = [*filter(None, known), *read.values()]
    # Those of a fan all say the same.
    below = {text: load_ids(text) for text in {node.dependants for node in done}}
    met: Counter[NodeKey] = Counter()
    parents = {}
    for node in done:
        for each in below[node.dependants]:
            met[node.workflow_id, each] += 1
            parents[node.workflow_id, each] = node.node_id
    return met, parents


def _ready(
    connection: Connection, store: Store, met: Mapping[NodeKey, int]
) -> dict[Key, list[StoredNode]]:
    """Write how many dependencies are met, and give the nodes that wait for no more."""
    ready: dict[Key, list[StoredNode]] = defaultdict(list)
    if not met:
        return ready
    joins: dict[NodeKey, int] = {}
    for found in store.graphs.dependants(connection, met):
        key = found.workflow_id, found.node.node_id
        if found.unmet is not None:
            joins[key] = met[key]
        if (found.unmet or 1) <= met[key]:
            ready[found.workflow_id].append(found.node)
    store.graphs.meet(connection, joins)
    return ready


def _hashes_above(
    connection: Connection,
    store: Store,
    ready: Mapping[Key, Sequence[StoredNode]],
    parents: Mapping[NodeKey, str],
    known: Mapping[NodeKey, str | None],
) -> dict[NodeKey, list[str | None]]:
    """Give the ancestry hashes of what each node depends on."""
    above: dict[NodeKey, list[str]] = {}
    joins = []  # of which it has still to be read what they depend on
    for key, nodes in ready.items():
        for node in nodes:
            if node.dependency_count <= 1:
                above[key, node.node_id] = [parents[key, node.node_id]]
            elif isinstance(node, GraphNodeRecord):
                above[key, node.node_id] = load_ids(node.depends_on)
            else:
                joins.append((key, node.node_id))
    if joins:
        found = store.graphs.nodes(connection, joins)
        above |= {join: load_ids(node.depends_on) for join, node in found.items()}
    wanted = {(key, parent) for (key, _), parent_ids in above.items() for parent in parent_ids}
    unknown = wanted - known.keys()
    hashes = {**known, **store.attempts.ancestry_hashes(connection, unknown)}
    return {
        (key, node_id): [hashes.get((key, parent)) for parent in parent_ids]
        for (key, node_id), parent_ids in above.items()
    }


def plan_stored_node(
    workflow: WorkflowRecord,
    node: StoredNode,
    now: datetime,
    parents: Iterable[str | None] = (),
) -> NewExecution:
    """Plan the first execution of a stored node, by its job or by what is stored of that."""
    job = jobs.get(node.job or "")
    kept = job_scheduling.load(node.scheduling) if node.scheduling else job_scheduling.UNKNOWN
    rules = job.scheduling if job else kept
    return NewExecution(
        step_name=node.name,
        signature=DYNAMIC.signature,
        queue=workflow.queue or rules.queue or _DEFAULT_QUEUE,
        priority=(rules.priority or 0) if workflow.priority is None else workflow.priority,
        scheduled_for=now + rules.wait,
        is_limited=rules.is_limited,
        node_id=node.node_id,
        slot=node.node_id,
        ancestry_hash=ancestry_hash(node.node_id, parents),
        attempt=1,
        stored=node if isinstance(node, GraphNodeRecord) else None,
    )
