"""The graph of a workflow, as a handle shows it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.dynamic.stored_batch import part_name, stem_in
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.batch_progress import BatchProgress, read_batches
from geneva_drive.drive.graph.graph_view import view_of_workflow
from geneva_drive.drive.handle.fields import HandleFields, W
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.graphs import graph_rows
from geneva_drive.engine.graphs.node_states import NodeStatus, id_in_graph, node_statuses
from geneva_drive.engine.transitions.batch_workers import graph_node_id
from geneva_drive.engine.transitions.planned_executions import ancestry_mismatches
from geneva_drive.errors import NodeNotFound
from geneva_drive.states import WorkflowState, is_done
from geneva_drive.storage.schema.records import ExecutionRecord


@dataclass(frozen=True, slots=True)
class Progress:
    """How many nodes of a workflow are done, and the progress of its batches and maps."""

    done: int
    total: int
    batches: tuple[BatchProgress, ...] = ()  # those that have been expanded

    @property
    def fraction(self) -> float:
        return self.done / self.total if self.total else 1.0


class HandleGraph(HandleFields[W]):
    """The workflow's graph; a chain of steps is the simplest one."""

    @property
    def dag(self) -> dict[str, Any]:
        """The stored graph, or else the current graph of the class."""
        stored = self.dag_definition
        return self._require_definition().compiled_dag() if stored is None else stored

    @property
    def dag_definition(self) -> dict[str, Any] | None:
        """The stored graph; None if the workflow follows its class."""
        if not self._record.has_graph:
            return None
        store, key = self._drive.store, self._record.id
        graph = store.read(lambda connection: graph_rows.stored_graph(connection, store, key))
        return None if graph is None else graph.to_dag()

    @property
    def template(self) -> str | None:
        """The name of the template that built the workflow."""
        if not self._record.has_graph:
            return None
        if self._listed is not None:
            return self._listed.template
        store, key = self._drive.store, self._record.id
        graph = store.read(lambda connection: store.graphs.get(connection, key))
        return None if graph is None else graph.template

    def nodes_with_state(self) -> list[dict[str, Any]]:
        """List every node with its state; a node without an execution is `pending`.

        Once a batch or map has been expanded, its workers are listed in its place. Workers that
        wait for their turn are `pending`, too.

        A finished workflow that follows its class lists only the nodes that it reached, because
        nodes added to the class later will not run.
        """
        view = view_of_workflow(self._drive, self._record.id)
        return [
            {
                "id": node.id,
                "name": node.name,
                "state": node.state,
                "attempt_number": node.attempt_number,
                "scheduled_for": node.scheduled_for,
                "started_at": node.started_at,
                "finished_at": node.finished_at,
                "outcome": node.outcome,
            }
            for node in view.every_node()
        ]

    def has_passed(self, step: object) -> bool:
        """True if the node is completed or skipped; for a batch worker or a map, all of it.

        `step` may be a single worker, such as "process_004".
        """
        worker = self._worker_id(step)
        if worker is not None:
            store, key = self._drive.store, (self._record.id, worker)
            tried = store.read(lambda connection: store.attempts.latest(connection, [key]))
            return any(is_done(one.state, one.outcome) for one in tried)
        node_id = self._node_id(step)
        status = self._read_statuses().get(node_id)
        return status is not None and status.is_done

    def progress(self) -> Progress:
        """Count how many nodes of the graph are done.

        The workers of a batch or map count as one node, which is done when all of them have ended;
        `batches` has the numbers of workers and items.
        """
        store, record, now = self._drive.store, self._record, self._drive.clock.now()
        batches: tuple[BatchProgress, ...] = ()
        if self._may_expand:
            batches = store.read(lambda connection: read_batches(connection, store, record, now))
        if record.type == DYNAMIC_TYPE:
            graph = store.read(lambda connection: store.graphs.get(connection, record.id))
            if graph is not None:
                return Progress(graph.total - graph.remaining, graph.total, batches)
        statuses = self._read_statuses()
        nodes = list(self.dag["nodes"])
        if record.state is WorkflowState.FINISHED and not record.has_graph:
            nodes = [node_id for node_id in nodes if node_id in statuses]
        done = sum(node_id in statuses and statuses[node_id].is_done for node_id in nodes)
        return Progress(done, len(nodes), batches)

    def verify_ancestry(self) -> list[StepExecution]:
        """Return the executions whose ancestry hash does not match the recorded ancestors.

        An empty list proves that each node ran after the nodes it depends on.
        """
        nodes = self.dag["nodes"]
        is_document = self._record.definition_signature is not None
        parents = {
            # Steps of a document have no ancestors: the step before decides which one runs.
            node_id: () if is_document else node["depends_on"]
            for node_id, node in nodes.items()
        }
        wrong = ancestry_mismatches(parents, self._attempts_by_node())
        return [self._drive.open_execution(record) for record in wrong]

    def export_dag(self) -> str:
        """Return the graph as JSON text, to read or to repair."""
        return json.dumps(self.dag, indent=2, ensure_ascii=False)

    def _require_definition(self) -> Definition:
        return definition_lookup.require_definition(self._drive.store, self._record)

    @property
    def _graph(self) -> Graph:
        """The graph of a class-based workflow; empty if this process lacks the class."""
        if not self._record.has_graph:
            definition = self._definition
            return definition.graph if definition else Graph.of({})
        nodes = self.dag["nodes"]
        return Graph.of({node_id: node["depends_on"] for node_id, node in nodes.items()})

    def _node_id(self, reference: object) -> str:
        if not self._record.has_graph:
            return self._require_definition().require(reference).name
        definition = self._definition
        wanted = reference if definition is None else definition.name_of(reference)
        if not isinstance(wanted, str):
            raise NodeNotFound(self._record.id, wanted)
        nodes = self.dag["nodes"]
        if wanted in nodes:
            return wanted
        for node_id, node in nodes.items():
            if node["name"] == wanted:
                return str(node_id)
        raise NodeNotFound(self._record.id, wanted)

    def _worker_id(self, reference: object) -> str | None:
        """Return the reference if it is the id of a single worker of a batch or map."""
        definition = self._definition
        if definition is None or not isinstance(reference, str) or definition.get(reference):
            return None
        if self._record.type == DYNAMIC_TYPE:
            stem = stem_in(reference)
            workers = stem and part_name(stem, NodeKind.WORKER)
            return reference if workers in self.dag["nodes"] else None
        return reference if definition.expansion_node(reference) else None

    def _read_statuses(self) -> dict[str, NodeStatus]:
        """Return the status of each node that has been reached, without reading workers."""
        store, record = self._drive.store, self._record
        is_dynamic = record.type == DYNAMIC_TYPE
        graph, definition = (Graph.of({}) if is_dynamic else self._graph), self._definition
        with store.reading() as connection:
            attempts = store.attempts.latest_of(connection, record.id)
            expansions = store.expansions.of(connection, record.id) if self._may_expand else {}
        if is_dynamic:  # its nodes are known by their ids
            attempts = [one._replace(step_name=one.node_id) for one in attempts]
        return node_statuses(None if is_dynamic else definition, graph, attempts, expansions)

    def _attempts_by_node(self) -> dict[str, list[ExecutionRecord]]:
        """Group the attempts by node id, following renames."""
        is_dynamic = self._record.type == DYNAMIC_TYPE
        graph = Graph.of({}) if is_dynamic else self._graph
        found: dict[str, list[ExecutionRecord]] = {}
        for record in self._read_executions():
            node_id = (
                graph_node_id(record)
                if is_dynamic
                else id_in_graph(self._definition, graph, record.step_name)
            )
            found.setdefault(node_id, []).append(record)
        return found
