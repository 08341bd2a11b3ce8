"""The claim where one statement cannot do it: look, lock, take, and read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, literal, select, union_all, update

from geneva_drive.states import StepState
from geneva_drive.storage.claims import Claim, Taken
from geneva_drive.storage.records import (
    EXECUTION_COLUMNS,
    WORKFLOW_COLUMNS,
    ExecutionRecord,
    Key,
    WorkflowRecord,
)
from geneva_drive.storage.tables import MYSQL_NAMES, Tables

_BY_KEY = "FORCE INDEX (PRIMARY)"

Lock = Callable[[Select[Any]], Select[Any]]


def claim(connection: Connection, tables: Tables, wish: Claim, lock: Lock) -> Sequence[Taken]:
    """Take the head of the worker's lanes; `lock` keeps others from taking the same."""
    ids = _heads(connection, tables, wish)
    if not ids:
        return []
    statements = _statements_for(tables)
    taken = _lock(connection, lock(statements.free), ids, wish.limit)
    if not taken:
        return []
    connection.execute(
        statements.take,
        {
            "ids": taken,
            "claimed_by": wish.worker_id,
            "under_token": wish.claim_token,
            "now": wish.now,
        },
    )
    return _read(connection, statements, taken)


def _lock(connection: Connection, free: Select[Any], ids: Sequence[Key], limit: int) -> list[Key]:
    """Lock the first that nobody else is taking, and no more than are wanted."""
    locked: list[Key] = []
    begin = 0
    while begin < len(ids) and len(locked) < limit:
        candidates = ids[begin : begin + limit - len(locked)]
        begin += len(candidates)
        found = set(connection.scalars(free, {"ids": candidates}))
        locked += [key for key in candidates if key in found]
    return locked


def top_priority(
    connection: Connection, tables: Tables, types: Sequence[str], queues: Sequence[str] | None
) -> int | None:
    """Give the priority of the most urgent execution that could be claimed from these lanes."""
    heads = _look(connection, tables, types, queues, reach=1)
    return max((priority for _, priority, _ in heads), default=None)


def _heads(connection: Connection, tables: Tables, wish: Claim) -> list[Key]:
    """List what could be taken, most urgent first, lanes taking turns."""
    turns: dict[int, int] = defaultdict(int)
    found = []
    for key, priority, lane in _look(connection, tables, wish.types, wish.queues, wish.reach):
        turns[lane] += 1
        found.append((-priority, turns[lane], key))
    return [key for _, _, key in sorted(found)[: wish.reach]]


def _look(
    connection: Connection,
    tables: Tables,
    types: Sequence[str],
    queues: Sequence[str] | None,
    reach: int,
) -> list[tuple[Key, int, int]]:
    """Read the head of each lane in turn, as (id, priority, lane)."""
    queues_or_any: Sequence[str | None] = [None] if queues is None else queues
    lanes = [(type_name, queue) for type_name in types for queue in queues_or_any]
    if not lanes:
        return []
    values: dict[str, Any] = {"reach": reach}
    for number, (type_name, queue) in enumerate(lanes):
        values[f"type_{number}"] = type_name
        if queue is not None:
            values[f"queue_{number}"] = queue
    query = _heads_query(tables, len(lanes), queues is not None)
    return [(row[0], row[1], row[2]) for row in connection.execute(query, values)]


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


class _Statements:
    """Built once for a set of tables: what stays the same is not built again for each claim."""

    def __init__(self, tables: Tables) -> None:
        executions, workflows = tables.step_executions, tables.workflows
        listed = executions.c.id.in_(bindparam("ids", expanding=True))
        free: Select[Any] = select(executions.c.id).where(listed, executions.c.claimable)
        take = update(executions).where(listed)
        for name in MYSQL_NAMES:
            # By another index, which it prefers for few rows, it would lock all that are due.
            free = free.with_hint(executions, _BY_KEY, name)
            take = take.with_hint(_BY_KEY, dialect_name=name)
        self.free = free
        self.take = take.values(
            state=StepState.IN_PROGRESS,
            claimable=False,
            wakes_at=None,
            worker_id=bindparam("claimed_by"),
            claim_token=bindparam("under_token"),
            started_at=bindparam("now"),
        )
        self.read = (
            select(
                *(executions.c[name] for name in EXECUTION_COLUMNS),
                *(workflows.c[name] for name in WORKFLOW_COLUMNS),
            )
            .join_from(executions, workflows, executions.c.workflow_id == workflows.c.id)
            .where(listed)
        )


@lru_cache(maxsize=8)
def _statements_for(tables: Tables) -> _Statements:
    return _Statements(tables)


def _read(connection: Connection, statements: _Statements, taken: Sequence[Key]) -> list[Taken]:
    border = len(EXECUTION_COLUMNS)
    found = {
        row[0]: (ExecutionRecord.read(row[:border]), WorkflowRecord.read(row[border:]))
        for row in connection.execute(statements.read, {"ids": taken})
    }
    return [found[key] for key in taken]
