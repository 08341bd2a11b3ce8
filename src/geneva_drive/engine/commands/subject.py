"""A workflow as a command finds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.engine.graphs.nodes import GraphNodes
from geneva_drive.engine.transitions.change import (
    CHAIN_SLOT,
    Change,
    NewExecution,
    unchanged,
)
from geneva_drive.engine.transitions.holds import hold_executions
from geneva_drive.engine.transitions.loop_position import LoopPosition, carried_over
from geneva_drive.engine.transitions.partitions import Partition
from geneva_drive.engine.transitions.planned_executions import plan_node
from geneva_drive.errors import InvalidStateError
from geneva_drive.states import (
    ACTIVE_STEP_STATES,
    Request,
    StepState,
    WorkflowState,
    is_done,
)
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A locked workflow with what is active of it, as a command finds it."""

    workflow: WorkflowRecord
    active: tuple[ExecutionRecord, ...]
    now: datetime
    attempts: tuple[ExecutionRecord, ...] = ()  # the latest at each step
    nodes: GraphNodes | None = None  # where several may be under way

    @property
    def next_step_name(self) -> str | None:
        """Give the step that is next; of a graph, the oldest that is under way."""
        if self.workflow.next_step_name is None and self.active:
            return self.active[0].step_name
        return self.workflow.next_step_name

    @property
    def is_unknown_graph(self) -> bool:
        """Say whether it is a graph of which only its class, which is not here, knows the nodes."""
        return self.nodes is None and any(
            one.slot != CHAIN_SLOT and one.share is None for one in self.attempts
        )

    def latest(self, node: Node) -> ExecutionRecord | None:
        """Give the latest attempt at a step, be it under the name that it had before."""
        names = (node.name, node.options.renamed_from)
        tried = [one for one in self.attempts if one.node_id in names and one.share is None]
        return max(tried, key=lambda one: one.created_at, default=None)

    def plan_attempts(
        self, definition: Definition, node: Node, *, for_active: bool = False
    ) -> tuple[NewExecution, ...]:
        """Plan further attempts at a step, from where its loop stood, or those of its shares.

        `for_active` also for shares that are active, as they are canceled.
        """
        planned = self.plan(definition, node, self.now)
        unfinished = self.unfinished_partitions(node)
        if not unfinished:
            return (replace(planned, position=carried_over(self.latest(node))),)
        return tuple(
            replace(
                planned,
                position=LoopPosition.of(one),
                share=one.share,
                node_id=one.node_id,
                slot=one.slot,
            )
            for one in unfinished
            if for_active or one.state not in ACTIVE_STEP_STATES
        )

    def plan(
        self, definition: Definition, node: Node, at: datetime, *, passed: Node | None = None
    ) -> NewExecution:
        """Plan an execution of a step of a chain, with the proof of what was done before it.

        `passed` is a step that is being passed over just now.
        """
        hashes = []
        for name in definition.graph.parents[node.name]:
            parent = definition.get(name)
            latest = self.latest(parent) if parent else None
            if latest and (parent is passed or is_done(latest.state, latest.outcome)):
                hashes.append(latest.ancestry_hash)
        return plan_node(definition, self.workflow, node, at, hashes)

    def unfinished_partitions(self, node: Node) -> list[ExecutionRecord]:
        """List the latest attempts at shares of a step that are not done, of its last division."""
        divider = self.latest(node)
        return [
            one
            for one in self.attempts
            if divider is not None
            and (partition := Partition.load(one.share)) is not None
            and partition.division == str(divider.id)
            and not is_done(one.state, one.outcome)
        ]

    @property
    def running(self) -> ExecutionRecord | None:
        return next((e for e in self.active if e.state is StepState.IN_PROGRESS), None)

    @property
    def state(self) -> WorkflowState:
        """The state as readers see it."""
        return WorkflowState.PERFORMING if self.running else self.workflow.state

    def refuse(self, verb: str, way_out: str = "") -> InvalidStateError:
        return InvalidStateError(f"Cannot {verb} a {self.state} workflow.{way_out}")

    def refuse_running(self, verb: str) -> InvalidStateError:
        return self.refuse(
            f"{verb} a step of",
            " A running step is never torn: pause the workflow, and try again once the step has "
            "stopped.",
        )


def request_stop(subject: Subject, request: Request, reason: str | None) -> Change:
    return Change(
        record=subject.workflow,
        workflow=unchanged(subject.workflow, requested=request, requested_reason=reason),
        executions=hold_executions(subject.active, request),
    )
