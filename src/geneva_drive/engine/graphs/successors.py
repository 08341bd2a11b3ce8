"""From nodes that are done to those that may run: what the database knows of a graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.dynamic import job_scheduling, jobs
from geneva_drive.definition.dynamic.run import DYNAMIC
from geneva_drive.engine.graphs.node_states import Standing, id_in_graph, standings, unlock
from geneva_drive.engine.graphs.summary import Growth, NodeEnd, Tally, conclude, tally
from geneva_drive.engine.transitions.ancestry import ancestry_hash
from geneva_drive.engine.transitions.change import CHAIN_SLOT, Change, NewExecution, scheduled
from geneva_drive.states import Outcome, StepState
from geneva_drive.storage.schema.records import (
    ExecutionRecord,
    GraphNodeRecord,
    Key,
    NodeKey,
    NodeOutline,
    WorkflowRecord,
)
from geneva_drive.storage.statements.graphs import load_ids
from geneva_drive.storage.store import Store

StoredNode = GraphNodeRecord | NodeOutline

_UNKNOWN_SIGNATURE = ""
_DEFAULT_QUEUE = "default"


@dataclass(frozen=True, slots=True)
class DoneNode:
    """A node of a dynamic workflow that is done; its row, where it is at hand."""

    ancestry_hash: str | None
    stored: GraphNodeRecord | None = None


def is_in_graph(
    workflow: WorkflowRecord, execution: ExecutionRecord, definition: Definition | None
) -> bool:
    """Say whether an execution is of a workflow in which several nodes may be under way."""
    if workflow.has_graph or (definition is not None and definition.is_graph):
        return True
    return execution.slot != CHAIN_SLOT and execution.share is None


def settle(
    connection: Connection,
    store: Store,
    workflow: WorkflowRecord,
    ends: Sequence[NodeEnd],
    now: datetime,
) -> Change:
    """Decide what follows from ends of nodes of a workflow that is locked."""
    has_shares = any(end.execution.share for end in ends)
    shares = store.executions.lock_shares(connection, [workflow.id]) if has_shares else []
    found = tally(workflow, ends, now, shares)
    growth = Growth()
    if found.done and found.closing is None:
        if workflow.type == DYNAMIC_TYPE:
            passed = [Passed(workflow, _done_nodes(found, ends))]
            [growth] = count_down(connection, store, passed, now)
        else:
            definition = next(end.definition for end in ends if end.definition is not None)
            growth = _look_around(connection, store, found, definition, now)
    elif workflow.type == DYNAMIC_TYPE and found.done_count:
        # They end a workflow, or it has ended already: nothing follows, but done they are.
        store.graphs.pass_nodes(connection, {workflow.id: found.done_count})
    if found.is_plain and not growth.is_over:
        return conclude(found, growth, ())
    active = store.executions.lock_active(connection, workflow.id)
    return conclude(found, growth, [one for one in active if one.id not in found.moves])


def _done_nodes(found: Tally, ends: Sequence[NodeEnd]) -> dict[str, DoneNode]:
    stored = {end.execution.id: end.stored for end in ends}
    return {
        done.execution.node_id: DoneNode(done.execution.ancestry_hash, stored[done.execution.id])
        for done in found.done
    }


def _look_around(
    connection: Connection,
    store: Store,
    found: Tally,
    definition: Definition,
    now: datetime,
) -> Growth:
    """Look at where every node of a class's graph stands, of which there are not many."""
    attempts = store.attempts.latest_of(connection, found.workflow.id)
    graph = graph_of(connection, store, found.workflow, definition)
    stands = standings(definition, graph, attempts)
    for done in found.done:
        stands[id_in_graph(definition, graph, done.execution.step_name)] = Standing(
            state=done.state,
            outcome=done.outcome,
            ancestry_hash=done.execution.ancestry_hash,
            chosen=done.chosen,
        )
    growth = grown(definition, graph, found.workflow, stands, now)
    # All attempts are at hand, under the workflow's lock: nobody has to count them once more.
    numbers = {one.node_id: one.attempt_number for one in attempts}
    numbered = (replace(new, attempt=numbers.get(new.node, 0) + 1) for new in growth.schedule)
    return replace(growth, schedule=tuple(numbered))


def graph_of(
    connection: Connection, store: Store, workflow: WorkflowRecord, definition: Definition
) -> Graph:
    """Give the graph that rules a workflow of a class: the stored one, if there is one."""
    if not workflow.has_graph:
        return definition.graph
    nodes = store.graphs.nodes_of(connection, workflow.id)
    return Graph.of({node.node_id: load_ids(node.depends_on) for node in nodes})


def grown(
    definition: Definition,
    graph: Graph,
    workflow: WorkflowRecord,
    stands: Mapping[str, Standing],
    now: datetime,
) -> Growth:
    """Plan what may run by where the nodes stand."""
    unlocked = unlock(graph, stands)
    hashes = {name: one.ancestry_hash for name, one in stands.items() if one.is_done}
    planned = []
    for name in (*unlocked.passed_over, *unlocked.ready):
        parents = [hashes.get(parent) for parent in graph.parents[name]]
        new = planned_node(definition, workflow, name, now, parents)
        if name in unlocked.passed_over:
            by_branch = Outcome.SKIPPED_BY_BRANCH
            new = replace(new, state=StepState.SKIPPED, outcome=by_branch, scheduled_for=now)
        hashes[name] = new.ancestry_hash
        planned.append(new)
    return Growth(schedule=tuple(planned), is_over=unlocked.is_over)


def planned_node(
    definition: Definition,
    workflow: WorkflowRecord,
    name: str,
    now: datetime,
    parents: Iterable[str | None],
) -> NewExecution:
    """Plan the first execution of a node of a class's graph."""
    node = definition.get(name)
    if node is not None:
        new = scheduled(definition, workflow, node, now + node.options.wait, parents)
        return replace(new, slot=name, ancestry_hash=ancestry_hash(name, parents))
    # A stored graph names what the class no longer has: whoever claims it says so.
    return NewExecution(
        step_name=name,
        signature=_UNKNOWN_SIGNATURE,
        queue=workflow.queue or definition.queue,
        priority=definition.priority if workflow.priority is None else workflow.priority,
        scheduled_for=now,
        slot=name,
        ancestry_hash=ancestry_hash(name, parents),
    )


@dataclass(frozen=True, slots=True)
class Passed:
    """Nodes of a dynamic workflow that are done, by id."""

    workflow: WorkflowRecord
    nodes: Mapping[str, DoneNode]


def count_down(
    connection: Connection, store: Store, passed: Sequence[Passed], now: datetime
) -> list[Growth]:
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
        Growth(
            schedule=tuple(
                stored_execution(one.workflow, node, now, above[one.workflow.id, node.node_id])
                for node in ready.get(one.workflow.id, ())
            ),
            is_over=one.workflow.id in over,
        )
        for one in passed
    ]


def _met(
    connection: Connection, store: Store, passed: Sequence[Passed]
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


def stored_execution(
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
