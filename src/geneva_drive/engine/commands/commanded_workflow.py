"""The workflow that a command acts on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.engine.graphs.nodes import GraphNodes
from geneva_drive.engine.transitions.change import Change, NewExecution, unchanged
from geneva_drive.engine.transitions.holds import hold_executions
from geneva_drive.engine.transitions.loop_position import LoopPosition, carried_over
from geneva_drive.engine.transitions.partitions import Partition
from geneva_drive.engine.transitions.planned_executions import plan_node
from geneva_drive.engine.transitions.wait_kinds import waits_externally
from geneva_drive.errors import InvalidStateError, UnknownWorkflowClass
from geneva_drive.states import ACTIVE_STEP_STATES, Request, StepState, WorkflowState, is_done
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord


@dataclass(frozen=True, kw_only=True)  # no slots: cached properties need a `__dict__`
class CommandedWorkflow:
    """A locked workflow, as read in the command's transaction.

    Attempts and nodes are read on demand: pause and cancel need neither.
    """

    workflow: WorkflowRecord
    active: tuple[ExecutionRecord, ...]
    now: datetime
    read_attempts: Callable[[], list[ExecutionRecord]]
    read_nodes: Callable[[tuple[ExecutionRecord, ...]], GraphNodes | None]
    definition: Definition | None  # None if this process lacks the class

    def require_definition(self) -> Definition:
        if self.definition is None:
            raise UnknownWorkflowClass(self.workflow.type)
        return self.definition

    @cached_property
    def attempts(self) -> tuple[ExecutionRecord, ...]:
        """The latest attempt at each node and partition."""
        return tuple(self.read_attempts())

    @cached_property
    def nodes(self) -> GraphNodes | None:
        """The nodes of a graph; None for a chain."""
        return self.read_nodes(self.attempts)

    @property
    def next_step_name(self) -> str | None:
        """The step that is next; in a graph, the oldest active one."""
        if self.workflow.next_step_name is None and self.active:
            return self.active[0].step_name
        return self.workflow.next_step_name

    @property
    def is_unknown_graph(self) -> bool:
        """True for a graph of a class that this process does not have."""
        return self.nodes is None and any(one.is_graph_node for one in self.attempts)

    def latest(self, node: Node) -> ExecutionRecord | None:
        """Return the latest attempt at a step, under its name or the one it was renamed from."""
        names = (node.name, node.options.renamed_from)
        tried = [one for one in self.attempts if one.node_id in names and one.share is None]
        return max(tried, key=lambda one: one.created_at, default=None)

    def plan_attempts(
        self, definition: Definition, node: Node, *, for_active: bool = False
    ) -> tuple[NewExecution, ...]:
        """Plan another attempt at a step, or at each unfinished partition of it.

        `for_active` includes active partitions, for a caller that cancels them.
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
        """Plan an execution of a chain's step, with its ancestry hash.

        `passed` is a step that the same command passes over; it counts as done.
        """
        hashes = []
        for name in definition.graph.parents[node.name]:
            parent = definition.get(name)
            latest = self.latest(parent) if parent else None
            if latest and (parent is passed or is_done(latest.state, latest.outcome)):
                hashes.append(latest.ancestry_hash)
        return plan_node(definition, self.workflow, node, at, hashes)

    def unfinished_partitions(self, node: Node) -> list[ExecutionRecord]:
        """Return the latest attempts at the unfinished partitions of the last division."""
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
    def waits_externally(self) -> bool:
        """True if only people or events can continue the workflow."""
        return bool(self.active) and all(waits_externally(one) for one in self.active)

    @property
    def state(self) -> WorkflowState:
        """The state as readers see it."""
        if self.workflow.state is WorkflowState.READY and self.waits_externally:
            return WorkflowState.PAUSED
        return WorkflowState.PERFORMING if self.running else self.workflow.state

    def refusal(self, verb: str, way_out: str = "") -> InvalidStateError:
        return InvalidStateError(f"Cannot {verb} a {self.state} workflow.{way_out}")

    def refusal_while_running(self, verb: str) -> InvalidStateError:
        return self.refusal(
            f"{verb} a step of",
            " A running step is not interrupted: pause the workflow, and try again once the step "
            "has stopped.",
        )


def check_rewindable(node: Node | None, to: LoopPosition | None, name: str | None = None) -> None:
    """Raise an error if a step cannot be rewound, or not to the cursor of `to`."""
    if node is None or not node.can_rewind:
        raise InvalidStateError(
            f"Cannot rewind step {name or (node.name if node else '')!r}: it is not a resumable "
            f"step and has no cursor. To run it again, use reattempt."
        )
    if node.waits and to is not None:
        again = "asks again" if node.is_approval else "waits again"
        raise InvalidStateError(
            f"Cannot rewind {node.kind.noun} {node.name!r} to a cursor: it has none. Without one, "
            f"rewind {again}."
        )


def request_stop(subject: CommandedWorkflow, request: Request, reason: str | None) -> Change:
    """Store a request on the workflow and its active executions; a loop stops at a checkpoint."""
    return Change(
        record=subject.workflow,
        workflow=unchanged(subject.workflow, requested=request, requested_reason=reason),
        executions=hold_executions(subject.active, request),
    )
