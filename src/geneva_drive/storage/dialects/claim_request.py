"""The request of a worker for executions, and their order: by priority, then lanes in turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, case, literal, select, union_all
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.storage.schema.records import (
    EXECUTION_COLUMNS,
    ExecutionRecord,
    Key,
    WorkflowRecord,
)
from geneva_drive.storage.schema.tables import Tables

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
        """How many rows to read of each lane: more than other workers are likely to have locked."""
        return 2 * self.limit + 16


def read_taken(
    rows: Iterable[Row],
    values_of_execution: Callable[[Row], Iterable[Any]],
    values_of_workflow: Callable[[Row], Iterable[Any]],
) -> list[Taken]:
    """Return the records for a driver's rows: an execution's columns, then its workflow's."""
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


Lane = tuple[str, str | None]  # a type, and a queue unless all are served
Head = tuple[int, int, Key, str | None]  # falling priority, turn, key, queue

MOST_LANES = 400  # in one statement: SQLite allows at most 500 parts of a UNION


def later(moment: ColumnElement[Any], other: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the later of two moments, in SQL that every database supports."""
    return case((moment > other, moment), else_=other)


def top_priority(
    connection: Connection, tables: Tables, types: Sequence[str], queues: Iterable[str] | None
) -> int | None:
    """Return the highest priority that could be claimed from these lanes."""
    heads = look(connection, tables, lanes_of(types, queues), reach=1)
    return max((priority for _, priority, _ in heads), default=None)


def in_turn(request: ClaimRequest, heads: Iterable[tuple[Key, int, Lane]]) -> list[Key]:
    """Return the keys of lane heads in the order to claim them; each comes with its priority."""
    turns: dict[Lane, int] = defaultdict(int)
    found = []
    for key, priority, lane in heads:
        turns[lane] += 1
        found.append((-priority, turns[lane], key, lane[1]))
    found.sort()
    if request.queues is not None:
        found = _within_capacity(found, request.queues)
    return [key for _, _, key, _ in found]


def _within_capacity(found: list[Head], capacities: Mapping[str, int]) -> list[Head]:
    """Leave out executions that exceed the free capacity of their queue."""
    left = dict(capacities)
    kept = []
    for head in found:
        queue = head[3]
        assert queue is not None, "only named queues have a capacity"
        left[queue] -= 1
        if left[queue] >= 0:
            kept.append(head)
    return kept


def lanes_of(types: Sequence[str], queues: Iterable[str] | None) -> list[Lane]:
    listed: list[str | None] = [None] if queues is None else list(queues)
    return [(type_name, queue) for type_name in types for queue in listed]


def look(
    connection: Connection, tables: Tables, lanes: Sequence[Lane], reach: int
) -> Iterator[tuple[Key, int, Lane]]:
    """Yield the first rows of each lane: key, priority, lane."""
    for start in range(0, len(lanes), MOST_LANES):
        portion = lanes[start : start + MOST_LANES]
        values: dict[str, Any] = {"reach": reach}
        for number, (type_name, queue) in enumerate(portion):
            values[f"type_{number}"] = type_name
            if queue is not None:
                values[f"queue_{number}"] = queue
        query = _heads_query(tables, len(portion), portion[0][1] is not None)
        for key, priority, number in connection.execute(query, values):
            yield key, priority, portion[number]


@lru_cache(maxsize=64)
def _heads_query(tables: Tables, lanes: int, by_queue: bool) -> Any:
    c = tables.step_executions.c
    heads: list[Any] = []
    for number in range(lanes):
        due = [c.claimable, c.type == bindparam(f"type_{number}", type_=c.type.type)]
        if by_queue:
            due.append(c.queue == bindparam(f"queue_{number}", type_=c.queue.type))
        head = (
            select(c.id, c.priority, literal(number, literal_execute=True).label("lane"))
            .where(*due)
            .order_by(c.priority.desc(), c.id)
            .limit(bindparam("reach"))
        )
        heads.append(select(head.subquery()))
    return heads[0] if lanes == 1 else union_all(*heads)
