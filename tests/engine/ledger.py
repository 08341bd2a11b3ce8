"""A graph that is run by hand, without a database: rows in memory, moved by the engine's decisions.

What the database would refuse, and what no run may ever come to, is checked at each move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import geneva_drive as gd
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.removed_step import RemovedStep
from geneva_drive.definition.nodes.step import Step
from geneva_drive.definition.options.options import Options
from geneva_drive.engine.commands.command import Decision
from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow
from geneva_drive.engine.commit.rows import (
    claim_values,
    execution_values,
    new_execution_values,
    workflow_values,
)
from geneva_drive.engine.graphs import successors
from geneva_drive.engine.graphs.node_states import node_statuses
from geneva_drive.engine.graphs.nodes import GraphNodes
from geneva_drive.engine.graphs.summary import NodeEnd
from geneva_drive.engine.transitions.change import Change
from geneva_drive.engine.transitions.outcome import StepOutcome
from geneva_drive.states import (
    ACTIVE_STEP_STATES,
    ENDED_WORKFLOW_STATES,
    STEP_MOVES,
    WORKFLOW_MOVES,
    StepState,
    WorkflowState,
    is_done,
)
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from tests.engine.cases import NOW, workflow

_NO_DATABASE: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Edges, and what kind of node some are."""

    edges: Mapping[str, Sequence[str]]
    decisions: frozenset[str] = frozenset()

    def compiled(self, removed: frozenset[str] = frozenset()) -> Definition:
        graph = Graph.of(self.edges, removed)
        return Definition(
            type="tests.engine.ledger",
            workflow_class=gd.Workflow,
            nodes=tuple(self._node(name, graph, removed) for name in self.edges),
            graph=graph,
            cancel_conditions=(),
            policies=(),
            queue="default",
            priority=0,
        )

    def _node(self, name: str, graph: Graph, removed: frozenset[str]) -> Node:
        kind = NodeKind.DECISION if name in self.decisions else NodeKind.TASK
        declared: RemovedStep | Step[..., None] = (
            RemovedStep("a ledger", Options(), is_in_chain=False)
            if name in removed
            else Step(kind, lambda _: None, Options(), "a ledger")
        )
        return Node(name=name, where="a ledger", declared=declared, depends_on=graph.parents[name])


class Ledger:
    """The rows of one workflow; the engine asks it what it would ask the store."""

    def __init__(self, shape: Shape) -> None:
        self.definition = shape.compiled()
        self.workflow: WorkflowRecord = workflow(
            type=self.definition.type, has_graph=False, next_step_name=None
        )
        self.rows: list[ExecutionRecord] = []
        self.executions = self.attempts = self  # as of a store
        self.claims = 0
        self._first_definitions: dict[str, Definition] = {}  # that a node was scheduled with
        following = successors.plan_successors(
            self.definition, self.definition.graph, self.workflow, {}, NOW
        )
        state = WorkflowState.FINISHED if following.is_over else WorkflowState.READY
        self.workflow = self.workflow._replace(state=state)
        self._insert(
            Change(record=self.workflow, workflow=_NO_DATABASE, schedule=following.schedule)
        )

    def latest_of(self, *_: object) -> list[ExecutionRecord]:
        return list({row.node_id: row for row in self.rows}.values())

    def lock_active(self, *_: object) -> list[ExecutionRecord]:
        return [row for row in self.rows if row.state in ACTIVE_STEP_STATES]

    @property
    def claimable(self) -> list[ExecutionRecord]:
        return [row for row in self.rows if row.claimable]

    @property
    def running(self) -> list[ExecutionRecord]:
        return [row for row in self.rows if row.state is StepState.IN_PROGRESS]

    @property
    def undone(self) -> list[ExecutionRecord]:
        """The latest attempts that ended without their nodes being done."""
        ended = [row for row in self.latest_of() if row.state not in ACTIVE_STEP_STATES]
        return [row for row in ended if not is_done(row.state, row.outcome)]

    def done(self, node: str) -> list[ExecutionRecord]:
        rows = [row for row in self.rows if row.node_id == node]
        return [row for row in rows if is_done(row.state, row.outcome)]

    def claim(self, row: ExecutionRecord) -> None:
        assert row.state in (StepState.SCHEDULED, StepState.SUSPENDED)
        if row.node_id not in self.definition.graph.removed:
            self._check_may_run(row.node_id)
        self.claims += 1
        claimed = claim_values("worker", f"token {row.id}", NOW)
        del claimed["wakes_at"]
        self._replace(row, claimed)

    def end(self, outcomes: Mapping[int, StepOutcome]) -> None:
        """End executions that run, all in one transaction."""
        ends = [
            NodeEnd(definition=self.definition, execution=self._row(key), outcome=outcome)
            for key, outcome in outcomes.items()
        ]
        store: Any = self
        self._write(successors.settle(_NO_DATABASE, store, self.workflow, ends, NOW))

    def command(self, decision: Decision) -> None:
        store: Any = self
        nodes = GraphNodes(_NO_DATABASE, store, self.workflow, NOW, self.definition)
        subject = CommandedWorkflow(
            workflow=self.workflow,
            active=tuple(self.lock_active()),
            now=NOW,
            definition=self.definition,
            read_attempts=self.latest_of,
            read_nodes=lambda _: nodes,
        )
        self._write(decision(subject))

    def _write(self, change: Change) -> None:
        former, target = self.workflow.state, change.workflow.state
        assert target is former or target in WORKFLOW_MOVES[former]
        moved = [move.record.id for move in change.executions]
        assert len(set(moved)) == len(moved), "an execution is moved twice"
        for move in change.executions:
            before = self._row(move.record.id)
            assert move.state is before.state or move.state in STEP_MOVES[before.state]
            values = execution_values(move, NOW)
            del values["wakes_at"]
            self._replace(before, values)
        self.workflow = self.workflow._replace(**workflow_values(change, NOW))
        self._insert(change)
        self._check()

    def _insert(self, change: Change) -> None:
        for new in change.schedule:
            self._first_definitions.setdefault(new.node_id, self.definition)
            attempt = 1 + sum(row.node_id == new.node_id for row in self.rows)
            values = new_execution_values(self.workflow, new, attempt, NOW)
            del values["wakes_at"]
            self.rows.append(ExecutionRecord(**values, id=len(self.rows)))

    def _row(self, key: int) -> ExecutionRecord:
        return self.rows[key]

    def _replace(self, row: ExecutionRecord, values: Mapping[str, Any]) -> None:
        self.rows[row.id] = row._replace(**values)

    def _check_may_run(self, node: str) -> None:
        for parent in self.definition.graph.parents[node]:
            assert self.done(parent), f"{node} runs before {parent} is done"
        # Newer code may have removed the node between a decision and one that waits for both: what
        # was chosen before stays chosen.
        definition = self._first_definitions[node]
        for parent in definition.graph.parents[node]:
            done = self.done(parent)
            chosen = node_statuses(definition, definition.graph, done)[parent].chosen
            assert chosen is None or node in chosen, f"{node} runs, which {parent} did not choose"

    def _check(self) -> None:
        active = [row.node_id for row in self.lock_active()]
        assert len(set(active)) == len(active), "two attempts at a node are under way"
        for node in self.definition.graph.order:
            done = self.done(node)
            assert len(done) <= 1, f"{node} is done twice"
            assert not done or node not in active, f"{node} runs again"
        self._check_state()

    def _check_state(self) -> None:
        state, requested = self.workflow.state, self.workflow.requested
        waiting = [row for row in self.lock_active() if row.state is not StepState.IN_PROGRESS]
        if state in ENDED_WORKFLOW_STATES:
            assert not waiting, "an ended workflow has something scheduled"
            assert requested is None
        elif state is WorkflowState.PAUSED:
            assert not self.running, "a paused workflow is still running"
            assert not self.claimable, "a paused workflow can be claimed of"
            assert requested is None
        elif requested is not None:
            assert self.running or self.claimable, "a request waits for nobody"
            again = [row for row in self.claimable if row.attempt_number > 1]
            assert self.claimable == again, "something starts after a request"
        else:
            assert self.claimable or self.running, "nothing is left to run, and it is not over"
