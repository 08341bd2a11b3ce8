"""What follows from an outcome: pure, so that every rule can be tested in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from geneva_drive.definition.definition import Definition
from geneva_drive.engine.transitions.change import Change
from geneva_drive.engine.transitions.ended_execution import EndedExecution
from geneva_drive.engine.transitions.holds import stop_executions
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import StepOutcome
from geneva_drive.engine.transitions.partitions import settle_partition
from geneva_drive.engine.transitions.requests import honour_request
from geneva_drive.states import Outcome, Request, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord


def decide_alone(
    definition: Definition | None,
    workflow: WorkflowRecord,
    execution: ExecutionRecord,
    outcome: StepOutcome,
    now: datetime,
    position: LoopPosition | None = None,
) -> Change:
    """Say what would follow from an end in a graph if no other node were under way.

    What a node that is done lets run is not part of it: that depends on the others.
    """
    return EndedExecution(definition, workflow, execution, now, position, in_graph=True).change_for(
        outcome
    )


def decide(
    definition: Definition | None,
    workflow: WorkflowRecord,
    execution: ExecutionRecord,
    outcome: StepOutcome,
    now: datetime,
    position: LoopPosition | None = None,
    siblings: Sequence[ExecutionRecord] = (),
) -> Change:
    """Say what is to be written when `execution` ended in `outcome`.

    The definition may be missing only for a lost or handed-over execution: whoever takes those
    back need not have the class. `position` is where the loop of a resumable step stands by now,
    `siblings` are the latest attempts at the other partitions of its step.
    """
    case = EndedExecution(definition, workflow, execution, now, position)
    change = case.change_for(outcome)
    if execution.share is None:
        return honour_request(change)
    change = honour_request(settle_partition(change, outcome, siblings))
    if change.workflow.state is WorkflowState.CANCELED and workflow.requested is Request.CANCEL:
        own = [move for move in change.executions if move.record.id == execution.id]
        asked = stop_executions(siblings, Outcome.CANCELED_BY_OPERATOR)
        return replace(change, executions=(*own, *asked))
    return change
