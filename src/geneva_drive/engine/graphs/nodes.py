"""The nodes of one workflow's graph, as commands see them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from sqlalchemy import Connection

from geneva_drive.checks import text_fault
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.dynamic import job_options
from geneva_drive.definition.dynamic.node_arguments import BATCH_JOB
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.graphs import successors
from geneva_drive.engine.graphs.dependency_counts import (
    DoneNode,
    DoneNodes,
    count_down,
    plan_stored_node,
    worker_of,
)
from geneva_drive.engine.graphs.node_states import NodeStatus, id_in_graph, node_statuses
from geneva_drive.engine.graphs.summary import Successors
from geneva_drive.engine.transitions.batch_workers import BatchWorker, graph_node_id, worker_id
from geneva_drive.engine.transitions.change import NewExecution
from geneva_drive.engine.transitions.decide import is_in_graph
from geneva_drive.engine.transitions.planned_batch_workers import plan_idle_worker
from geneva_drive.engine.transitions.planned_executions import (
    ancestry_hash,
    plan_next_attempt,
    plan_node,
)
from geneva_drive.errors import InvalidStateError, NodeNotFound, StepNotDefined, StepVanished
from geneva_drive.states import Outcome, StepState, is_done
from geneva_drive.storage.schema.expansion_record import ExpansionRecord
from geneva_drive.storage.schema.records import (
    ExecutionRecord,
    GraphNodeRecord,
    Key,
    NodeOutline,
    WorkflowRecord,
)
from geneva_drive.storage.statements.graphs import load_ids
from geneva_drive.storage.store import Store


class GraphNodes:
    """The nodes of a class's graph. Class graphs are small, so every node is read."""

    def __init__(
        self,
        connection: Connection,
        store: Store,
        workflow: WorkflowRecord,
        now: datetime,
        definition: Definition | None,
    ) -> None:
        self._connection = connection
        self._store = store
        self._workflow = workflow
        self._now = now
        self._known_definition = definition

    @property
    def _definition(self) -> Definition:
        assert self._known_definition is not None, "nodes_of() requires a definition"
        return self._known_definition

    @cached_property
    def _graph(self) -> Graph:
        return successors.graph_of(self._connection, self._store, self._workflow, self._definition)

    @cached_property
    def _statuses(self) -> dict[str, NodeStatus]:
        attempts = self._store.attempts.latest_of(self._connection, self._workflow.id)
        return node_statuses(self._definition, self._graph, attempts, self._expansions)

    @cached_property
    def _expansions(self) -> dict[str, ExpansionRecord]:
        if not self._definition.expands:
            return {}
        return self._store.expansions.of(self._connection, self._workflow.id)

    def find(self, reference: object) -> str:
        """Return the id of the node that a method, a name or an id refers to."""
        name = self._definition.name_of(reference)
        if self._latest_worker(name) is not None:
            return name
        found = id_in_graph(self._definition, self._graph, name)
        if found in self._expansions:
            raise _ambiguous(self._expansions[found])
        if found not in self._graph.parents:
            raise StepNotDefined(self._definition.type, name, self._graph.order)
        return found

    def expansion(self, reference: object) -> ExpansionRecord:
        """Return the batch or map that a method or a name refers to."""
        name = self._definition.name_of(reference)
        node = self._definition.require(name)
        if not (node.expands or node.is_worker):
            raise InvalidStateError(f"Step {name!r} is neither a batch nor a map.")
        batch = self._definition.batch_of(node.name)
        for known in self._definition.worker_of(batch.name).names:
            if known in self._expansions:
                return self._expansions[known]
        raise InvalidStateError(f"{node.kind.noun.capitalize()} {name!r} has no workers yet.")

    def _latest_worker(self, node_id: str) -> ExecutionRecord | None:
        """Return the latest attempt of a worker; None if no worker has this id."""
        if not self._expansions:
            return None
        tried = self._store.attempts.latest(self._connection, [(self._workflow.id, node_id)])
        return tried[0] if tried and tried[0].is_worker else None

    def _whole(self, node_id: str) -> str:
        """Return the node that a worker belongs to; the id itself for any other node."""
        worker = self._latest_worker(node_id)
        if worker is None:
            return node_id
        return id_in_graph(self._known_definition, self._graph, BatchWorker.of(worker).expansion)

    def blocks_workflow(self, record: ExecutionRecord) -> bool:
        """True if a failed attempt keeps its workflow paused; a tolerated worker does not."""
        if not record.is_worker or record.outcome is Outcome.PAUSED_BY_FLOW_CONTROL:
            return True
        expansion = self._expansions.get(BatchWorker.of(record).expansion)
        return expansion is not None and expansion.is_blocked

    def check_open(self, node_id: str, verb: str) -> None:
        """Raise an error if the batch or map of a worker is over: nothing waits for the worker."""
        worker = self._latest_worker(node_id)
        expansion = self._expansions.get(BatchWorker.of(worker).expansion) if worker else None
        if expansion is not None and expansion.is_over:
            raise InvalidStateError(
                f"Cannot {verb} worker {node_id!r}: {expansion.node_id!r} has ended, and the steps "
                f"after it no longer wait for this worker."
            )

    def id_of(self, record: ExecutionRecord) -> str:
        if record.is_worker:
            return record.node_id
        return id_in_graph(self._definition, self._graph, record.step_name)

    def name_of(self, node_id: str) -> str:
        return node_id

    def step_name_of(self, record: ExecutionRecord) -> str:
        """Return the step name for a further attempt."""
        return record.step_name

    def present(self, node_ids: Collection[str]) -> Collection[str]:
        """Return the ids that a stored graph contains.

        Without a stored graph, return all: `plan_attempts` refuses nodes that the class has lost.
        """
        if not self._workflow.has_graph:
            return node_ids
        return [each for each in node_ids if self._whole(each) in self._graph.parents]

    def definition_of(self, node_id: str) -> Node | None:
        """Return the node of the class; None for a node that calls a job."""
        return self._definition.get(self._whole(node_id))

    def plan_attempts(
        self, records: Iterable[ExecutionRecord], *, rewind: bool = False
    ) -> list[NewExecution]:
        """Plan further attempts at nodes; a rewound step with partitions gets a single attempt."""
        planned = []
        for record in records:
            node = self._definition.get(record.step_name)
            if node is None:
                names = self._definition.step_names
                raise StepVanished(self._definition.type, record.step_name, names)
            if rewind and not record.is_worker:
                fresh = plan_node(self._definition, self._workflow, node, self._now)
                planned.append(replace(fresh, ancestry_hash=record.ancestry_hash, slot=node.name))
                break
            planned.append(plan_next_attempt(record, self._now, rewind=rewind))
        return planned

    def after(self, passed: dict[str, str | None]) -> Successors:
        """Plan the successors of skipped nodes, given as node id to ancestry hash."""
        statuses = dict(self._statuses)
        for node_id, known in passed.items():
            statuses[node_id] = NodeStatus(
                state=StepState.SKIPPED,
                outcome=Outcome.SKIPPED_BY_OPERATOR,
                ancestry_hash=known,
            )
        return successors.plan_successors(
            self._definition, self._graph, self._workflow, statuses, self._now
        )

    def stranded(self) -> Successors:
        """Plan the nodes that may run in a workflow without active executions."""
        return self.after({})

    def done_downstream(self, node_id: str) -> str | None:
        """Return the name of a done node that depends on this one, directly or not."""
        behind = self._graph.downstream(self._whole(node_id))
        return next((n for n in self._graph.order if n in behind and self.is_done(n)), None)

    def is_done(self, node_id: str) -> bool:
        return node_id in self._statuses and self._statuses[node_id].is_done

    def state_of(self, node_id: str) -> StepState | None:
        worker = self._latest_worker(node_id)
        if worker is not None:
            return worker.state
        return self._statuses[node_id].state if node_id in self._statuses else None


def _ambiguous(expansion: ExpansionRecord) -> InvalidStateError:
    return InvalidStateError(
        f"{expansion.node_id!r} runs as {expansion.total} workers. Name one of them, such as "
        f"{worker_id(expansion.node_id, 1)!r}; `resume` runs all failed workers again."
    )


class StoredNodes(GraphNodes):
    """The nodes of a dynamic workflow; there may be 100,000, so a method reads what it needs."""

    @property
    def _id(self) -> Key:
        return self._workflow.id

    @cached_property
    def _graph(self) -> Graph:
        nodes = self._store.graphs.nodes_of(self._connection, self._id)
        return Graph.of({node.node_id: load_ids(node.depends_on) for node in nodes})

    @cached_property
    def _expansions(self) -> dict[str, ExpansionRecord]:
        return self._store.expansions.of(self._connection, self._id)

    def find(self, reference: object) -> str:
        found = self._find(reference)
        if found is None and self._latest_worker(str(reference)) is not None:
            return str(reference)
        if found is None:
            raise NodeNotFound(self._id, reference)
        if found in self._expansions:
            raise _ambiguous(self._expansions[found])
        return found

    def _find(self, reference: object) -> str | None:
        if not isinstance(reference, str) or text_fault(reference):
            raise NodeNotFound(self._id, reference)
        return self._store.graphs.find(self._connection, self._id, reference)

    def expansion(self, reference: object) -> ExpansionRecord:
        found = self._find(reference)
        if found is None:
            raise NodeNotFound(self._id, reference)
        node = self._node(found)
        workers = worker_of(node)
        if workers is None:
            raise InvalidStateError(f"Node {node.name!r} is not a batch.")
        if workers not in self._expansions:
            raise InvalidStateError(f"Batch {node.name!r} has no workers yet.")
        return self._expansions[workers]

    def _node(self, node_id: str) -> GraphNodeRecord:
        key = self._id, node_id
        return self._store.graphs.nodes(self._connection, [key])[key]

    def id_of(self, record: ExecutionRecord) -> str:
        return record.node_id

    def name_of(self, node_id: str) -> str:
        return node_id if self._latest_worker(node_id) is not None else self._node(node_id).name

    def step_name_of(self, record: ExecutionRecord) -> str:
        return self._node(graph_node_id(record)).name  # an import may have changed it

    def present(self, node_ids: Collection[str]) -> Collection[str]:
        wanted = [(self._id, node_id) for node_id in node_ids]
        found = {node_id for _, node_id in self._store.graphs.nodes(self._connection, wanted)}
        if not self._expansions:
            return found
        rest = [key for key in wanted if key[1] not in found]
        tried = self._store.attempts.latest(self._connection, rest)
        # An import keeps the nodes of workers that have begun.
        return found | {one.node_id for one in tried if one.is_worker}

    def definition_of(self, node_id: str) -> Node | None:  # noqa: ARG002 - its nodes call jobs
        return None

    def plan_attempts(
        self, records: Iterable[ExecutionRecord], *, rewind: bool = False
    ) -> list[NewExecution]:
        tried = list(records)
        wanted = {(self._id, graph_node_id(record)) for record in tried}
        outlines = self._store.graphs.outlines(self._connection, wanted)
        names = {node.node_id: node.name for node in outlines[self._id]}
        return [
            replace(
                plan_next_attempt(record, self._now, rewind=rewind),
                step_name=names[graph_node_id(record)],
            )
            for record in tried
        ]

    def after(self, passed: dict[str, str | None]) -> Successors:
        wanted = [(self._id, node_id) for node_id in passed]
        rows = self._store.graphs.nodes(self._connection, wanted) if wanted else {}
        if not rows:  # a worker has no row; the counts of its batch decide what follows
            return Successors()
        done = {node.node_id: DoneNode(passed[node.node_id], node) for node in rows.values()}
        idle = [self._idle_worker(node, done) for node in rows.values() if node.job == BATCH_JOB]
        [following] = count_down(
            self._connection, self._store, [DoneNodes(self._workflow, done)], self._now
        )
        return replace(following, schedule=(*idle, *following.schedule))

    def _idle_worker(self, batch: GraphNodeRecord, done: dict[str, DoneNode]) -> NewExecution:
        """Plan the idle worker of a skipped batch, and count it as done."""
        workers = worker_of(batch)
        assert workers is not None, "it is a batch"
        node = self._node(workers)
        parents = [done[batch.node_id].ancestry_hash]
        planned = plan_stored_node(self._workflow, node, self._now, parents)
        done[workers] = DoneNode(planned.ancestry_hash, node)
        return plan_idle_worker(replace(planned, scheduled_for=self._now), workers)

    def stranded(self) -> Successors:
        nodes = self._store.graphs.nodes_of(self._connection, self._id)
        latest = self._store.attempts.latest_of(self._connection, self._id)
        done = {one.node_id for one in latest if is_done(one.state, one.outcome)}
        tried = {one.node_id: one.ancestry_hash for one in latest}
        for node in nodes:
            if job_options.is_worker(node.scheduling) and done.issuperset(
                load_ids(node.depends_on)
            ):
                self._add_workers(node, done, tried)
        ready = [
            plan_stored_node(
                self._workflow,
                NodeOutline.of_entry(node.node_id, node.name, node.job, node.scheduling),
                self._now,
                [tried[parent] for parent in load_ids(node.depends_on)],
            )
            for node in nodes
            if node.node_id not in tried and done.issuperset(load_ids(node.depends_on))
        ]
        return Successors(schedule=tuple(ready), is_over=len(done) == len(nodes))

    def _add_workers(
        self, node: GraphNodeRecord, done: set[str], tried: dict[str, str | None]
    ) -> None:
        """Add the workers of a batch as one node, done if the batch was skipped unexpanded."""
        expansion = self._expansions.get(node.node_id)
        parents = [tried[parent] for parent in load_ids(node.depends_on)]
        tried[node.node_id] = ancestry_hash(node.node_id, parents)
        if expansion is None or expansion.is_over:
            done.add(node.node_id)

    def is_done(self, node_id: str) -> bool:
        return bool(self._store.attempts.done_among(self._connection, self._id, [node_id]))

    def state_of(self, node_id: str) -> StepState | None:
        latest = self._store.attempts.latest(self._connection, [(self._id, node_id)])
        return latest[0].state if latest else None

    def done_downstream(self, node_id: str) -> str | None:
        behind = self._graph.downstream(self._whole(node_id))
        done = self._store.attempts.done_among(self._connection, self._id, behind)
        return self.name_of(done[0]) if done else None


def nodes_of(
    connection: Connection,
    store: Store,
    workflow: WorkflowRecord,
    attempts: Iterable[ExecutionRecord],
    now: datetime,
) -> GraphNodes | None:
    """Return the nodes of a graph workflow; None for a chain."""
    definition = definition_lookup.read_definition(connection, store, workflow)
    if workflow.type == DYNAMIC_TYPE:
        return StoredNodes(connection, store, workflow, now, definition)
    if definition is None:
        return None
    if not any(is_in_graph(workflow, one, definition) for one in attempts) and not (
        workflow.has_graph or definition.is_graph
    ):
        return None
    return GraphNodes(connection, store, workflow, now, definition)
