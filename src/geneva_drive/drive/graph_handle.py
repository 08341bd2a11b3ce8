"""The graph of a workflow, as code outside its steps looks at it and repairs it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition
from geneva_drive.drive.graph_view import view_of_workflow
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.engine.commands import graph_editing
from geneva_drive.engine.commands.command import Decision, execute
from geneva_drive.engine.commit.ending import Applied
from geneva_drive.engine.execution.group_commit import announce
from geneva_drive.engine.graphs import graph_rows
from geneva_drive.engine.graphs.node_states import id_in_graph
from geneva_drive.engine.transitions.ancestry import ancestry_mismatches
from geneva_drive.engine.transitions.change import AuditEntry
from geneva_drive.engine.transitions.partitions import latest_attempts
from geneva_drive.errors import InvalidInput, NodeNotFound
from geneva_drive.serialization import typed_json
from geneva_drive.states import WorkflowState, is_done
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_MAX_ACTOR_LENGTH = 255


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a workflow has come: nodes done, of how many there are."""

    done: int
    total: int

    @property
    def fraction(self) -> float:
        return self.done / self.total if self.total else 1.0


class GraphHandle:
    """What a handle knows of its workflow's graph; a chain of steps is the simplest one."""

    _drive: Drive
    _record: WorkflowRecord

    @property
    def dag(self) -> dict[str, Any]:
        """The graph: the stored one if there is one, else that of the class as it is now."""
        stored = self.dag_definition
        return (
            registry.require_definition(self._record.type).compiled_dag()
            if stored is None
            else stored
        )

    @property
    def dag_definition(self) -> dict[str, Any] | None:
        """The stored graph; None for a workflow that follows its class."""
        if not self._record.has_graph:
            return None
        store, key = self._drive.store, self._record.id
        graph = store.read(lambda connection: graph_rows.stored_graph(connection, store, key))
        return None if graph is None else graph.to_dag()

    @property
    def template(self) -> str | None:
        """The name of the template that built it."""
        if not self._record.has_graph:
            return None
        store, key = self._drive.store, self._record.id
        graph = store.read(lambda connection: store.graphs.get(connection, key))
        return None if graph is None else graph.template

    def nodes_with_state(self) -> list[dict[str, Any]]:
        """List every node with where it stands; `pending` is one that nothing is scheduled of.

        Of a finished workflow that follows its class, only what was reached is listed: what else
        the class has by now will not run.
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
        """Say whether a node is done: completed, or skipped."""
        return self._is_done(self._attempts_by_node().get(self._node_id(step), []))

    def progress(self) -> Progress:
        """Count the nodes that are done, of those that `nodes_with_state` lists."""
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
        """Give the executions whose ancestry hash does not prove what is recorded before them.

        An empty list proves that each node ran after those that it depends on.
        """
        nodes = self.dag["nodes"]
        parents = {node_id: node["depends_on"] for node_id, node in nodes.items()}
        wrong = ancestry_mismatches(parents, self._attempts_by_node())
        return [self._drive.open_execution(record) for record in wrong]

    def export_dag(self) -> str:
        """Write the graph as JSON text, for people to read or to repair."""
        return json.dumps(self.dag, indent=2, ensure_ascii=False)

    def import_dag(
        self,
        document: str | Mapping[str, Any],
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Put a repaired graph in the place of the stored one, while nothing of it runs.

        What is done stays, under its ids; the document is checked as a whole before anything is
        written.
        """
        limit = self._drive.settings.max_payload_size
        return self._carry_out(
            "import_dag",
            lambda connection: (
                lambda subject: graph_editing.replace_graph(
                    connection, self._drive.store, subject, document, limit
                )
            ),
            reason,
            actor,
        )

    def freeze_dag(self, reason: str | None = None, actor: str | None = None) -> Self:
        """Store the graph of the class for this workflow, which new code changes no more."""
        definition = registry.require_definition(self._record.type)
        return self._carry_out(
            "freeze_dag",
            lambda connection: (
                lambda subject: graph_editing.freeze(
                    connection, self._drive.store, subject, definition
                )
            ),
            reason,
            actor,
        )

    def _command(
        self, name: str, decision: Decision, reason: str | None, actor: str | None
    ) -> Self:
        return self._carry_out(name, lambda _: decision, reason, actor)

    def _carry_out(
        self,
        name: str,
        deciding: Callable[[Connection], Decision],
        reason: str | None,
        actor: str | None,
    ) -> Self:
        _require_text(name, "reason", reason)
        _require_text(name, "actor", actor)
        if actor is not None and len(actor) > _MAX_ACTOR_LENGTH:
            raise InvalidInput(
                f"An actor's name has at most {_MAX_ACTOR_LENGTH} characters, not {len(actor)}."
            )
        store, now = self._drive.store, self._drive.clock.now()
        audit = AuditEntry(
            command=name,
            actor=None if actor is None else typed_json.safe_text(actor),
            reason=None if reason is None else typed_json.safe_text(reason),
        )
        applied = store.write(
            lambda connection: execute(
                connection, store, self._record.id, deciding(connection), audit=audit, now=now
            )
        )
        store.database.after_commit(lambda: self._tell(applied))
        return self.reload()

    def _tell(self, applied: Applied) -> None:
        announce(self._drive.environment, [applied])
        self._drive.wake_workers()

    if TYPE_CHECKING:

        def reload(self) -> Self: ...

    @property
    def _definition(self) -> Definition | None:
        return registry.definition_for(self._record.type)

    @property
    def is_graph(self) -> bool:
        """Say whether several nodes may be under way at once, as far as this process knows."""
        definition = self._definition
        return self._record.has_graph or (definition is not None and definition.is_graph)

    @property
    def _graph(self) -> Graph:
        """The graph of a class-based workflow; empty where nobody here knows it."""
        if not self._record.has_graph:
            definition = self._definition
            return definition.graph if definition else Graph.of({})
        nodes = self.dag["nodes"]
        return Graph.of({node_id: node["depends_on"] for node_id, node in nodes.items()})

    def _node_id(self, reference: object) -> str:
        if not self._record.has_graph:
            return registry.require_definition(self._record.type).require(reference).name
        definition = self._definition
        wanted = str(reference) if definition is None else definition.name_of(reference)
        nodes = self.dag["nodes"]
        if wanted in nodes:
            return wanted
        for node_id, node in nodes.items():
            if node["name"] == wanted:
                return str(node_id)
        raise NodeNotFound(self._record.id, wanted)

    def _attempts_by_node(self) -> dict[str, list[ExecutionRecord]]:
        """List the attempts at each node by its id, be it that they had its former name."""
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

    def _read_executions(self) -> list[ExecutionRecord]:
        store = self._drive.store
        with store.reading() as connection:
            return store.executions.of_workflow(connection, self._record.id)


def _require_text(command: str, argument: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{command}({argument}=...) takes text, not {value!r}.")
