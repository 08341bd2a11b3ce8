"""The graph of a workflow, as a handle shows it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.drive.graph_view import view_of_workflow
from geneva_drive.drive.handle.fields import HandleFields, W
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.engine.graphs import graph_rows
from geneva_drive.engine.graphs.node_states import id_in_graph
from geneva_drive.engine.transitions.ancestry import ancestry_mismatches
from geneva_drive.engine.transitions.partitions import latest_attempts
from geneva_drive.errors import NodeNotFound
from geneva_drive.states import WorkflowState, is_done
from geneva_drive.storage.schema.records import ExecutionRecord


@dataclass(frozen=True, slots=True)
class Progress:
    """How many nodes of a workflow are done."""

    done: int
    total: int

    @property
    def fraction(self) -> float:
        return self.done / self.total if self.total else 1.0


class HandleGraph(HandleFields[W]):
    """The workflow's graph; a chain of steps is the simplest one."""

    @property
    def dag(self) -> dict[str, Any]:
        """The stored graph, or else the current graph of the class."""
        stored = self.dag_definition
        return (
            registry.require_definition(self._record.type).compiled_dag()
            if stored is None
            else stored
        )

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
        store, key = self._drive.store, self._record.id
        graph = store.read(lambda connection: store.graphs.get(connection, key))
        return None if graph is None else graph.template

    def nodes_with_state(self) -> list[dict[str, Any]]:
        """List every node with its state; a node without an execution is `pending`.

        A finished workflow that follows its class lists only the nodes it reached: nodes that the
        class gained later will not run.
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
            for node in view.nodes.values()
        ]

    def has_passed(self, step: object) -> bool:
        """True if the node is completed or skipped."""
        return self._is_done(self._attempts_by_node().get(self._node_id(step), []))

    def progress(self) -> Progress:
        """Count how many of the nodes that `nodes_with_state` lists are done."""
        if self._record.type == DYNAMIC_TYPE:
            store, key = self._drive.store, self._record.id
            graph = store.read(lambda connection: store.graphs.get(connection, key))
            if graph is not None:
                return Progress(done=graph.total - graph.remaining, total=graph.total)
        by_node = self._attempts_by_node()
        nodes = list(self.dag["nodes"])
        if self._record.state is WorkflowState.FINISHED and not self._record.has_graph:
            nodes = [node_id for node_id in nodes if node_id in by_node]
        done = sum(self._is_done(by_node.get(node_id, [])) for node_id in nodes)
        return Progress(done=done, total=len(nodes))

    def verify_ancestry(self) -> list[StepExecution]:
        """Return the executions whose ancestry hash does not match the recorded ancestors.

        An empty list proves that each node ran after the nodes it depends on.
        """
        nodes = self.dag["nodes"]
        parents = {node_id: node["depends_on"] for node_id, node in nodes.items()}
        wrong = ancestry_mismatches(parents, self._attempts_by_node())
        return [self._drive.open_execution(record) for record in wrong]

    def export_dag(self) -> str:
        """Return the graph as JSON text, to read or to repair."""
        return json.dumps(self.dag, indent=2, ensure_ascii=False)

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
            return registry.require_definition(self._record.type).require(reference).name
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

    def _attempts_by_node(self) -> dict[str, list[ExecutionRecord]]:
        """Group the attempts by node id, following renames."""
        is_dynamic = self._record.type == DYNAMIC_TYPE
        graph = Graph.of({}) if is_dynamic else self._graph
        found: dict[str, list[ExecutionRecord]] = {}
        for record in self._read_executions():
            node_id = (
                record.node_id
                if is_dynamic
                else id_in_graph(self._definition, graph, record.step_name)
            )
            found.setdefault(node_id, []).append(record)
        return found

    @staticmethod
    def _is_done(records: Sequence[ExecutionRecord]) -> bool:
        latest = latest_attempts(records)
        return bool(latest) and all(is_done(one.state, one.outcome) for one in latest)
