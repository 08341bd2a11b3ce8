"""Partitions of a resumable step: each is an execution with a part of the items."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from geneva_drive.engine.transitions.change import Change, NewExecution, unchanged
from geneva_drive.engine.transitions.holds import (
    cancel_moves,
    hold_change,
    hold_executions,
    stop_executions,
)
from geneva_drive.engine.transitions.outcome import Finished, StepOutcome
from geneva_drive.serialization import typed_json
from geneva_drive.states import ENDED_WORKFLOW_STATES, Outcome, Request, WorkflowState, is_done
from geneva_drive.storage.schema.records import WORKER_SHARE, ExecutionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """The items after one cursor, up to and including another; a null cursor sets no bound.

    The cursors stay typed JSON, because some readers do not have the classes of their values.
    """

    number: int
    of: int
    after: str
    until: str
    division: str  # id of the execution that divided the step; a rewind divides it again

    def dump(self) -> str:
        return (
            f'{{"number":{self.number},"of":{self.of},"after":{self.after},"until":{self.until},'
            f'"division":{json.dumps(self.division)}}}'
        )

    @classmethod
    def load(cls, text: str | None) -> Partition | None:
        """Return the partition stored in `text`; None for a batch worker or a whole step."""
        if text is None or text.startswith(WORKER_SHARE):
            return None
        stored = json.loads(text)
        cursors = {name: json.dumps(stored[name]) for name in ("after", "until")}
        return cls(**{**stored, **cursors})


def plan_partitions(
    planned: NewExecution, division: object, ends: Sequence[Any]
) -> list[NewExecution]:
    """Plan one execution for each pair of neighbouring `ends`."""
    count = len(ends) - 1
    return [
        replace(
            planned,
            node_id=f"{planned.node_id}[{number}]",
            slot=f"{planned.node_id}[{number}]",
            share=Partition(
                number=number,
                of=count,
                after=typed_json.dump(ends[number - 1]),
                until=typed_json.dump(ends[number]),
                division=str(division),
            ).dump(),
        )
        for number in range(1, count + 1)
    ]


def sibling_partitions(
    execution: ExecutionRecord, attempts: Sequence[ExecutionRecord]
) -> list[ExecutionRecord]:
    """Return the attempts at the other partitions of the division that `execution` belongs to."""
    own = Partition.load(execution.share)
    return [
        other
        for other in attempts
        if other.node_id != execution.node_id
        and (partition := Partition.load(other.share)) is not None
        and own is not None
        and partition.division == own.division
    ]


def latest_attempts(records: Sequence[ExecutionRecord]) -> list[ExecutionRecord]:
    """Return the latest attempt at a step, or those at the partitions of its last division.

    Each worker of a batch has a node of its own, so it counts as a whole step here.
    """
    whole = [record for record in records if not record.is_partition]
    if not whole:
        return []
    latest = max(whole, key=lambda record: (record.created_at, record.attempt_number))
    partitions = {
        record.node_id: record
        for record in sorted(records, key=lambda record: record.attempt_number)
        if (partition := Partition.load(record.share)) and partition.division == str(latest.id)
    }
    return list(partitions.values()) or [latest]


def settle_partition(
    change: Change, outcome: StepOutcome, siblings: Sequence[ExecutionRecord]
) -> Change:
    """Return the change after one partition ended, given the `siblings` of its step.

    `change` is what would follow if the step had no other partitions.
    """
    workflow = change.record
    if workflow.state in ENDED_WORKFLOW_STATES:
        return _end_after(change)
    end = change.executions[0]
    if isinstance(outcome, Finished) or change.workflow.state is WorkflowState.CANCELED:
        return _close(change, siblings, end.outcome)
    if change.workflow.state is WorkflowState.PAUSED:
        return replace(
            change, executions=(*change.executions, *hold_executions(siblings, Request.PAUSE))
        )
    if is_done(end.state, end.outcome):
        if all(is_done(other.state, other.outcome) for other in siblings):
            return _stay_paused(change)
        return replace(change, workflow=unchanged(workflow), schedule=())
    return _stay_paused(replace(change, workflow=unchanged(workflow)))


def _close(change: Change, siblings: Sequence[ExecutionRecord], outcome: Outcome | None) -> Change:
    by = Outcome.CANCELED_BY_FLOW_CONTROL if outcome is Outcome.SUCCESS else outcome
    return replace(change, executions=(*change.executions, *stop_executions(siblings, by)))


def _end_after(change: Change) -> Change:
    """Record the end of a partition whose workflow has ended, and schedule nothing."""
    return Change(
        record=change.record,
        workflow=unchanged(change.record),
        executions=cancel_moves(change.executions, Outcome.CANCELED_BY_OPERATOR),
    )


def _stay_paused(change: Change) -> Change:
    """Hold the scheduled executions if the workflow was paused while this partition ran."""
    workflow = change.record
    if workflow.state is not WorkflowState.PAUSED:
        return change
    moved = change.workflow
    if moved.state is not WorkflowState.FINISHED:
        moved = unchanged(
            workflow,
            next_step_name=moved.next_step_name,
            previous_step_name=moved.previous_step_name,
        )
    return hold_change(change, moved)
