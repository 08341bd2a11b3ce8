"""What a worker asks to claim, and what it gets."""

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
    """A request for the most urgent executions of a worker's lanes, under its claim token.

    A lane is a type on a queue, or a type on all queues where `queues` is None. Lanes take turns
    among equal priorities, so a class with many due executions does not starve another. Within a
    lane the oldest comes first.
    """

    worker_id: str
    claim_token: str
    types: Sequence[str]
    queues: Mapping[str, int] | None  # each with its free capacity
    limit: int
    now: datetime
    named: Key | None = None  # claim this execution or nothing

    @property
    def reach(self) -> int:
        """How many rows to read of each lane: more than other workers may be claiming right now."""
        return 2 * self.limit + 16


def read_taken(
    rows: Iterable[Row],
    values_of_execution: Callable[[Row], Iterable[Any]],
    values_of_workflow: Callable[[Row], Iterable[Any]],
) -> list[Taken]:
    """Make records of a driver's rows, which have an execution's columns, then its workflow's."""
    border = len(EXECUTION_COLUMNS)
    # The nodes of a fan-out share one workflow: its record is made once.
    workflows: dict[Key, WorkflowRecord] = {}
    taken = []
    for row in rows:
        execution = ExecutionRecord.read(values_of_execution(row[:border]))
        if execution.workflow_id not in workflows:
            workflow = WorkflowRecord.claimed(values_of_workflow(row[border:]))
            workflows[execution.workflow_id] = workflow
        taken.append((execution, workflows[execution.workflow_id]))
    return taken
