"""What a worker would take, and what it got."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from geneva_drive.storage.schema.records import (
    EXECUTION_COLUMNS,
    ExecutionRecord,
    Key,
    WorkflowRecord,
)

Row = Sequence[Any]
Taken = tuple[ExecutionRecord, WorkflowRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """A worker's request: the most urgent of its lanes, under its token.

    A lane is a type on a queue, or a type on all queues where `queues` is None. Among equally
    urgent ones the lanes take turns, so that a class with very many due executions does not keep
    another waiting; within a lane the oldest comes first.
    """

    worker_id: str
    claim_token: str
    types: Sequence[str]
    queues: Mapping[str, int] | None  # each with how many to take from it at most
    limit: int
    now: datetime
    named: Key | None = None  # take this one or nothing

    @property
    def reach(self) -> int:
        """How far to look in each lane: past what other workers may be taking right now."""
        return 2 * self.limit + 16


def read_taken(
    rows: Iterable[Row],
    values_of_execution: Callable[[Row], Iterable[Any]],
    values_of_workflow: Callable[[Row], Iterable[Any]],
) -> list[Taken]:
    """Make records of rows as a driver gives them: an execution's columns, then its workflow's."""
    border = len(EXECUTION_COLUMNS)
    # A fan's nodes all come with the same workflow.
    workflows: dict[Key, WorkflowRecord] = {}
    taken = []
    for row in rows:
        execution = ExecutionRecord.read(values_of_execution(row[:border]))
        if execution.workflow_id not in workflows:
            workflow = WorkflowRecord.read(values_of_workflow(row[border:]))
            workflows[execution.workflow_id] = workflow
        taken.append((execution, workflows[execution.workflow_id]))
    return taken
