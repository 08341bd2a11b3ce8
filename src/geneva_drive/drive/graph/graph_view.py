"""A graph for display: nodes and edges of a class, or of a workflow with each node's state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.dynamic import job_options
from geneva_drive.definition.dynamic.node_arguments import BATCH_JOB, CHILD_JOB
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.graph.gc_pause import without_garbage_collection
from geneva_drive.drive.graph.groups import Groups, fold_alike
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.drive.graph.outline import Outline, Version, outlines_of
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.graphs.node_states import id_in_graph
from geneva_drive.engine.transitions.batch_workers import worker_id
from geneva_drive.engine.transitions.partitions import latest_attempts
from geneva_drive.errors import WorkflowNotFound
from geneva_drive.states import Outcome, StepState, WorkflowState, is_done
from geneva_drive.storage.schema.expansion_record import ExpansionRecord
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.statements.expansions import WorkersInState
from geneva_drive.storage.statements.graphs import load_ids
from geneva_drive.storage.statements.search.overviews import NodeAttempt, NodeShape

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive
    from geneva_drive.storage.store import Store


_FURTHEST_FROM_DONE = (
    StepState.IN_PROGRESS,
    StepState.FAILED,
    StepState.CANCELED,
    StepState.SUSPENDED,
    StepState.WAITING,
    StepState.SCHEDULED,
    StepState.PENDING,
)
_KINDS: Mapping[str | None, NodeKind] = {CHILD_JOB: NodeKind.CHILD, BATCH_JOB: NodeKind.BATCH}


@dataclass(frozen=True, slots=True)
class GraphView:
    """The nodes by id, in order of declaration, and their edges.

    An expanded batch or map is one node; its workers are listed in `workers`.
    """

    nodes: Mapping[str, NodeView]
    graph: Graph
    workers: Mapping[str, Sequence[NodeView]] = field(default_factory=dict)  # by their node
    untaken: AbstractSet[tuple[str, str]] = frozenset()  # edges that a document left out
    outline: Outline | None = None  # of a dynamic workflow
    counted: Mapping[str, Counter[StepState]] = field(
        default_factory=dict
    )  # by node, where they are not listed

    @property
    def folded(self) -> Groups:
        """The groups of nodes that are alike."""
        if self.outline is not None:
            return self.outline.folded
        return fold_alike(self.nodes, self.graph)

    def count_states(self) -> Counter[StepState]:
        """Return how many nodes and workers are in each state."""
        counts: Counter[StepState] = Counter()
        for key, node in self.nodes.items():
            if key not in self.counted and key not in self.workers:
                counts[node.state or StepState.PENDING] += 1
        for workers in self.workers.values():
            counts.update(one.state or StepState.PENDING for one in workers)
        for found in self.counted.values():
            counts.update(found)
        return counts

    def every_node(self) -> Iterator[NodeView]:
        """Yield the nodes, with workers in place of the node that they belong to."""
        if not self.workers:
            return iter(self.nodes.values())
        found = (self.workers.get(key, (node,)) for key, node in self.nodes.items())
        return chain.from_iterable(found)

    def with_workers(self) -> GraphView:
        """Return the graph with each worker as a node of its own."""
        if not self.workers:
            return self
        ids = {key: [one.id for one in found] for key, found in self.workers.items()}
        edges = {
            node.id: [
                each for parent in self.graph.parents[key] for each in ids.get(parent, [parent])
            ]
            for key, shown in self.nodes.items()
            for node in self.workers.get(key, (shown,))
        }
        return GraphView({node.id: node for node in self.every_node()}, Graph.of(edges))


def view_of_definition(definition: Definition, *, is_whole: bool = True) -> GraphView:
    """Return the graph of a class or document; `is_whole` includes the branches of a document."""
    if definition.is_document:
        from geneva_drive.drive.graph.document_view import view_of_document

        return view_of_document(definition, is_whole=is_whole)
    return GraphView(
        {name: _of_class(definition.require(name)) for name in definition.graph.order},
        definition.graph,
    )


def view_of_workflow(
    drive: Drive, workflow_id: Key, *, workers: bool = True, is_folded: bool = False
) -> GraphView:
    """Read a workflow's graph, with only those columns of each node that are shown.

    The workers of batches and maps may be left out; their expansions have the most important
    counts. `is_folded` counts workers instead of listing them, and does not read the times of nodes
    that a large graph shows as one group.
    """
    store = drive.store
    with without_garbage_collection(), store.reading() as connection:
        record = store.workflows.get(connection, workflow_id)
        if record is None:
            raise WorkflowNotFound(workflow_id)
        if record.type == DYNAMIC_TYPE:
            return _of_dynamic(connection, store, record, is_folded=is_folded)
        definition = definition_lookup.read_definition(connection, store, record)
        shapes = store.overviews.shapes(connection, record.id) if record.has_graph else []
        executions = store.attempts.latest_of(connection, record.id)
        expansions = store.expansions.of(connection, record.id)
        is_more = workers and bool(expansions)
        counted = store.expansions.by_state(connection, record.id) if is_more and is_folded else {}
        is_listed = is_more and not is_folded
        tried = store.overviews.latest_attempts(connection, record.id) if is_listed else {}
    if shapes:
        view = _of_stored(shapes, definition)
    else:
        view = view_of_definition(
            definition_lookup.require_definition(store, record), is_whole=False
        )
    by_node: dict[str, list[ExecutionRecord]] = {}
    for one in executions:
        by_node.setdefault(id_in_graph(definition, view.graph, one.step_name), []).append(one)
    is_document = definition is not None and definition.is_document
    if record.state is WorkflowState.FINISHED and not record.has_graph and not is_document:
        expanded = {id_in_graph(definition, view.graph, key) for key in expansions}
        view = _only_reached(view, {*by_node, *expanded})
    nodes = {key: _with_state(node, by_node.get(key, [])) for key, node in view.nodes.items()}
    if definition is not None and is_document:
        from geneva_drive.drive.graph.document_view import with_way_taken

        return with_way_taken(GraphView(nodes, view.graph), record, definition, by_node)
    return _with_expansions(definition, GraphView(nodes, view.graph), expansions, tried, counted)


def _with_expansions(
    definition: Definition | None,
    view: GraphView,
    expansions: Mapping[str, ExpansionRecord],
    tried: Mapping[str, NodeAttempt],
    counted: Mapping[str, Sequence[WorkersInState]] = MappingProxyType({}),
) -> GraphView:
    """Return a view with the workers of batches and maps; their states follow from the workers."""
    nodes, workers, counts = dict(view.nodes), {}, {}
    for name, expansion in expansions.items():
        key = id_in_graph(definition, view.graph, name)
        numbers = range(1, expansion.total + 1) if expansion.total and tried else (0,)
        ids = [each for number in numbers if (each := worker_id(name, number)) in tried]
        node = nodes.get(key)
        if node is None:
            continue
        if expansion.is_over:
            nodes[key] = node._replace(state=StepState.COMPLETED, outcome=Outcome.SUCCESS)
        else:
            state = StepState.FAILED if expansion.is_blocked else StepState.IN_PROGRESS
            nodes[key] = node._replace(state=state, outcome=None)
        if ids:  # a map without items has no worker
            found = [NodeView(each, each, node.kind, node.job, 1, *tried[each]) for each in ids]
            nodes[key], workers[key] = _as_a_whole(node, expansion, found), found
        elif alike := counted.get(name):
            nodes[key] = _as_a_whole(node, expansion, alike)
            counts[key] = Counter[StepState]()
            for one in alike:
                counts[key][one.state] += one.number
    return GraphView(nodes, view.graph, workers, outline=view.outline, counted=counts)


def _as_a_whole(
    node: NodeView,
    expansion: ExpansionRecord,
    workers: Sequence[NodeView] | Sequence[WorkersInState],
) -> NodeView:
    """Return the node of a batch or map, with the state of the worker furthest from done."""
    states = {one.state for one in workers}
    state = next((each for each in _FURTHEST_FROM_DONE if each in states), StepState.COMPLETED)
    outcome = next((one.outcome for one in workers if one.state is state), None)
    if expansion.is_over:
        state, outcome = StepState.COMPLETED, Outcome.SUCCESS
    ends = [each.finished_at for each in workers if each.finished_at]
    return node._replace(
        state=state,
        outcome=outcome,
        attempt_number=max(each.attempt_number for each in workers),
        scheduled_for=min((w.scheduled_for for w in workers if w.scheduled_for), default=None),
        started_at=min((each.started_at for each in workers if each.started_at), default=None),
        finished_at=max(ends) if len(ends) == len(workers) else None,
    )


def _only_reached(view: GraphView, reached: Container[str]) -> GraphView:
    """Remove nodes that never ran: the class gained them later, or `finish()` came first."""
    edges = {key: view.graph.parents[key] for key in view.nodes}
    bridged = Graph.of(edges, removed={key for key in view.nodes if key not in reached})
    kept = {key: node for key, node in view.nodes.items() if key in reached}
    return GraphView(kept, Graph.of({key: bridged.parents[key] for key in kept}))


def _of_class(node: Node) -> NodeView:
    return NodeView(
        node.name,
        node.name,
        node.kind,
        job=node.job.name if node.job else None,
        partitions=_partitions(node),
    )


def _partitions(node: Node | None) -> int:
    iteration = node.options.iteration if node else None
    return iteration.partitions if iteration else 1


def _of_stored(shapes: list[NodeShape], definition: Definition | None) -> GraphView:
    nodes = {}
    for shape in shapes:
        known = definition.get(shape.name) if definition else None
        kind = known.kind if known else NodeKind.TASK if shape.job else NodeKind.STEP
        nodes[shape.node_id] = NodeView(
            shape.node_id, shape.name, kind, shape.job, _partitions(known)
        )
    return GraphView(nodes, Graph.of(dict(_edges(shapes))))


def _with_state(node: NodeView, attempts: list[ExecutionRecord]) -> NodeView:
    latest = latest_attempts(attempts)
    undone = [one for one in latest if not is_done(one.state, one.outcome)]
    one = next(iter(undone or latest), None)
    if one is None:
        return node._replace(state=StepState.PENDING)
    return node._replace(
        state=one.state,
        outcome=one.outcome,
        attempt_number=one.attempt_number,
        scheduled_for=one.scheduled_for,
        # A partitioned step lasts from the first start to the last end.
        started_at=min((each.started_at for each in latest if each.started_at), default=None),
        finished_at=one.finished_at and max(e.finished_at for e in latest if e.finished_at),
    )


def _of_dynamic(
    connection: Connection, store: Store, record: WorkflowRecord, *, is_folded: bool
) -> GraphView:
    version = store.graphs.version(connection, record.id)
    outline = outlines_of(store).get(version, lambda: _read_outline(connection, store, record.id))
    expansions = store.expansions.of(connection, record.id)
    timed = outline.timed if is_folded and not expansions else None
    attempts = store.overviews.latest_attempts(connection, record.id, timed)
    if timed is None:
        nodes = dict(outline.nodes)
    else:
        nodes = _folded_nodes(connection, store, version, outline, attempts)
    _set_attempts(nodes, attempts)
    for key in outline.batch_workers:
        # A skipped batch has a worker that never ran, and no expansion.
        idle = attempts.get(worker_id(key, 0))
        node = outline.nodes[key]
        nodes[key] = node if idle is None else NodeView._make((*node[:_STATELESS], *idle))
    view = GraphView(nodes, outline.graph, outline=outline)
    return _with_expansions(None, view, expansions, attempts) if expansions else view


def _folded_nodes(
    connection: Connection,
    store: Store,
    version: Version,
    outline: Outline,
    alone: Mapping[str, NodeAttempt],
) -> dict[str, NodeView]:
    """Return the nodes of a large graph with the states of those that are folded.

    If all of these have been reached, as while a fan-out runs, those in the most frequent state are
    not read one by one. `alone` are the attempts at the other nodes.
    """
    workflow_id, _, imports = version
    alike = store.overviews.first_states(connection, workflow_id)
    folded = len(outline.nodes) - len(outline.timed or ())
    # An import may have removed nodes that had been reached.
    is_reached = not imports and sum(one.number for one in alike) - len(alone) == folded > 0
    read = alike[1:] if is_reached else alike
    nodes = outline.all_with(alike[0].attempt) if is_reached else dict(outline.nodes)
    _set_attempts(nodes, store.overviews.nodes_in_states(connection, workflow_id, read))
    _set_attempts(nodes, store.overviews.later_attempts(connection, workflow_id))
    for key in outline.timed or ():
        nodes[key] = outline.nodes[key]
    return nodes


def _set_attempts(nodes: dict[str, NodeView], attempts: Mapping[str, NodeAttempt]) -> None:
    make = tuple.__new__  # twice as fast as `_make`
    for key, attempt in attempts.items():
        node = nodes.get(key)
        if node is not None:
            nodes[key] = make(NodeView, node[:_STATELESS] + attempt)


_STATELESS = NodeView._fields.index("state")


def _read_outline(connection: Connection, store: Store, workflow_id: Key) -> Outline:
    shapes = store.overviews.shapes(connection, workflow_id)
    nodes = {}
    for key, name, job, _, scheduling in shapes:
        kind = _KINDS.get(job, NodeKind.TASK) if scheduling is None else _kind(job, scheduling)
        nodes[key] = NodeView(key, name, kind, job, 1, StepState.PENDING)
    return Outline(
        nodes=nodes,
        graph=Graph.of(dict(_edges(shapes))),
        batch_workers=[key for key, node in nodes.items() if node.kind is NodeKind.WORKER],
    )


def _kind(job: str | None, scheduling: str) -> NodeKind:
    return _KINDS.get(job) or job_options.load(scheduling).part or NodeKind.TASK


def _edges(shapes: list[NodeShape]) -> Iterator[tuple[str, list[str]]]:
    # All nodes of a fan-out have the same parents, stored as the same text: parse it once.
    read: dict[str, list[str]] = {}
    for shape in shapes:
        parents = read.get(shape.depends_on)
        if parents is None:
            parents = read[shape.depends_on] = load_ids(shape.depends_on)
        yield shape.node_id, parents
