"""Executions that have ended, and what was written of each."""

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
from geneva_drive.values import value


@value
class Ending:
    """An execution that was run under a claim, and what came of it."""

    workflow_id: Key
    execution_id: Key
    claim_token: str
    definition: Definition | None
    outcome: StepOutcome
    may_chain: bool = False
    position: LoopPosition | None = None  # where the loop of a resumable step stands
    saved_iterations: int | None = None  # what has to be saved of it, where items commit with it
    stored: GraphNodeRecord | None = None  # its node, where the graph is stored
    # What the claim saw; None for an execution that somebody else had claimed.
    seen: tuple[WorkflowRecord, ExecutionRecord] | None = None

    @property
    def may_loop(self) -> bool:
        """Say whether the row may have been written by a loop's checkpoints since its claim."""
        if self.stored is not None and self.stored.job is not None:
            return False
        execution = self.seen[1] if self.seen else None
        node = self.definition.get(execution.step_name) if self.definition and execution else None
        is_plain = self.stored is not None or (node is not None and not node.is_resumable)
        return self.position is not None or not is_plain


@value
class Applied:
    """A change that was written, and the next execution if it was claimed with it."""

    change: Change
    workflow: WorkflowRecord
    # The new executions, where somebody wants to know them.
    scheduled: Sequence[ExecutionRecord] = ()
    passed_over: Sequence[ExecutionRecord] = ()  # new ones that were over when they were written

    @property
    def has_failure(self) -> bool:
        return any(move.state is StepState.FAILED for move in self.change.executions)

    @property
    def leaves_something_due(self) -> bool:
        """Say whether there may be something for another worker, or for this one, to claim."""
        for move in self.change.executions:
            if move.claimable:
                return True
        unclaimed = len(self.change.schedule)
        for one in self.scheduled:
            unclaimed -= one.claim_token is not None
        return unclaimed > 0

    def split(self, count: int) -> list[Applied]:
        """Give so many endings, which were decided together, a share each.

        The first gets what was changed; of what is claimed already, each gets one to go on with.
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
        """The new execution, if it was inserted already claimed."""
        for one in self.scheduled:
            if one.claim_token is not None:
                return one
        return None

    def node_of(self, chained: ExecutionRecord) -> GraphNodeRecord | None:
        """Give the stored node of a new execution, where it was read along."""
        for new in self.change.schedule:
            if new.node == chained.node_id:
                return new.stored
        return None
