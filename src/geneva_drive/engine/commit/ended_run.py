"""`EndedRun`, the input of a commit, and `Applied`, its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from geneva_drive.definition.definition import Definition
from geneva_drive.engine.transitions.change import Change, unchanged
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import StepOutcome
from geneva_drive.states import StepState
from geneva_drive.storage.schema.records import (
    ExecutionRecord,
    GraphNodeRecord,
    Key,
    WorkflowRecord,
)
from geneva_drive.value_class import value


@value
class EndedRun:
    """An execution that was run under a claim, and its outcome."""

    workflow_id: Key
    execution_id: Key
    claim_token: str
    definition: Definition | None
    outcome: StepOutcome
    may_chain: bool = False
    position: LoopPosition | None = None  # how far the loop of a resumable step has come
    # The count that the row must still have, if the items of a loop commit with its cursor.
    saved_iterations: int | None = None
    stored: GraphNodeRecord | None = None  # its node, if the graph is stored
    # The rows as of the claim; None if another worker claimed it.
    seen: tuple[WorkflowRecord, ExecutionRecord] | None = None

    @property
    def may_loop(self) -> bool:
        """True if a loop's checkpoints may have written the row since its claim."""
        execution = self.seen[1] if self.seen else None
        if execution is not None and execution.is_worker:
            return True
        if self.stored is not None and self.stored.job is not None:
            return False
        node = self.definition.get(execution.step_name) if self.definition and execution else None
        is_plain = self.stored is not None or (node is not None and not node.is_resumable)
        return self.position is not None or not is_plain


@value
class Applied:
    """A written change, with the executions that it inserted."""

    change: Change
    workflow: WorkflowRecord
    scheduled: Sequence[ExecutionRecord] = ()  # only the chained ones, unless all are read back
    passed_over: Sequence[ExecutionRecord] = ()  # inserted as skipped or canceled; read back only

    @property
    def has_failure(self) -> bool:
        return any(move.state is StepState.FAILED for move in self.change.executions)

    @property
    def leaves_something_due(self) -> bool:
        """True if the change leaves an execution that a worker may claim now."""
        for move in self.change.executions:
            if move.claimable:
                return True
        unclaimed = len(self.change.schedule)
        for one in self.scheduled:
            unclaimed -= one.claim_token is not None
        return unclaimed > 0

    def followed_by(self, later: Applied) -> Applied:
        """Return this change combined with a later one of the same workflow and transaction."""
        change = replace(
            self.change,
            workflow=later.change.workflow,
            executions=(*self.change.executions, *later.change.executions),
            schedule=(*self.change.schedule, *later.change.schedule),
            expansions=(*self.change.expansions, *later.change.expansions),
        )
        return Applied(
            change=change,
            workflow=later.workflow,
            scheduled=(*self.scheduled, *later.scheduled),
            passed_over=(*self.passed_over, *later.passed_over),
        )

    def split(self, count: int) -> list[Applied]:
        """Return one part for each of the `count` endings that were decided together.

        The first part has the change. Each part has at most one chained execution, so that each
        thread continues with its own.
        """
        if count == 1:
            return [self]
        claimed = [one for one in self.scheduled if one.claim_token is not None]
        others = [[one] for one in claimed[1:count]] + [[]] * (count - max(1, len(claimed[:count])))
        given = {one.id for part in others for one in part}
        first = replace(self, scheduled=[one for one in self.scheduled if one.id not in given])
        nothing = Change(record=self.workflow, workflow=unchanged(self.workflow))
        return [first] + [
            Applied(change=nothing, workflow=self.workflow, scheduled=part) for part in others
        ]

    @property
    def chained(self) -> ExecutionRecord | None:
        """The execution that was inserted already claimed."""
        for one in self.scheduled:
            if one.claim_token is not None:
                return one
        return None

    def node_of(self, chained: ExecutionRecord) -> GraphNodeRecord | None:
        """Return the stored node of a chained execution, if it was read with the change."""
        for new in self.change.schedule:
            if new.node_id == chained.node_id:
                return new.stored
        return None
