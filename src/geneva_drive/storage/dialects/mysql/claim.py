"""The claim where one statement cannot do it: look, lock, take, and read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, case, func, literal, select, union_all, update
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import StepState
from geneva_drive.storage.dialects.claim_request import Claim, Taken
from geneva_drive.storage.schema.records import (
    EXECUTION_COLUMNS,
    WORKFLOW_COLUMNS,
    ExecutionRecord,
    Key,
    WorkflowRecord,
)
from geneva_drive.storage.schema.table_builder import MYSQL_NAMES
from geneva_drive.storage.schema.tables import Tables


def later(moment: ColumnElement[Any], other: ColumnElement[Any]) -> ColumnElement[Any]:
    """Give the later of two moments, in words that every database knows."""
    return case((moment > other, moment), else_=other)


Lock = Callable[[Select[Any]], Select[Any]]
Lane = tuple[str, str | None]  # a type, and a queue unless all are served
Head = tuple[int, int, Key, str | None]  # falling priority, turn, key, queue

MOST_LANES = 400  # in one statement: SQLite joins no more than 500 parts


def claim(connection: Connection, tables: Tables, wish: Claim, lock: Lock) -> Sequence[Taken]:
    """Take the head of the worker's lanes; `lock` keeps others from taking the same."""
    heads = _heads if wish.named is None else _named
    ids = heads(connection, tables, wish)
    if not ids:
        return []
    statements = _statements_for(tables)
    taken = _lock_free(connection, lock(statements.free), ids, wish.limit)
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


def _lock_free(
    connection: Connection, free: Select[Any], ids: Sequence[Key], limit: int
) -> list[Key]:
    """Lock no more than is taken: whoever claims at the same moment takes the next ones."""
    taken: list[Key] = []
    while ids and len(taken) < limit:
        wanted = limit - len(taken)
        tried, ids = ids[:wanted], ids[wanted:]
        found = set(connection.scalars(free, {"ids": tried}))
        taken += [key for key in tried if key in found]
    return taken


def top_priority(
    connection: Connection, tables: Tables, types: Sequence[str], queues: Iterable[str] | None
) -> int | None:
    """Give the priority of the most urgent execution that could be claimed from these lanes."""
    heads = _look(connection, tables, lanes_of(types, queues), reach=1)
    return max((priority for _, priority, _ in heads), default=None)


def _heads(connection: Connection, tables: Tables, wish: Claim) -> list[Key]:
    """List what could be taken, most urgent first, lanes taking turns."""
    lanes = lanes_of(wish.types, wish.queues)
    return in_turn(wish, _look(connection, tables, lanes, wish.reach))[: wish.reach]


def in_turn(wish: Claim, heads: Iterable[tuple[Key, int, Lane]]) -> list[Key]:
    """Put the heads of lanes into the order to take them in; each comes with its priority."""
    turns: dict[Lane, int] = defaultdict(int)
    found = []
    for key, priority, lane in heads:
        turns[lane] += 1
        found.append((-priority, turns[lane], key, lane[1]))
    found.sort()
    if wish.queues is not None:
        found = _within_rooms(found, wish.queues)
    return [key for _, _, key, _ in found]


def _named(connection: Connection, tables: Tables, wish: Claim) -> list[Key]:
    """List the one that is named, if this worker serves it."""
    c = tables.step_executions.c
    query = select(c.id).where(c.id == wish.named, c.type.in_(wish.types))
    if wish.queues is not None:
        query = query.where(c.queue.in_(list(wish.queues)))
    return list(connection.scalars(query))


def _within_rooms(found: list[Head], rooms: Mapping[str, int]) -> list[Head]:
    """Leave out what is more than there is room for on its queue."""
    left = dict(rooms)
    kept = []
    for head in found:
        queue = head[3]
        assert queue is not None, "only a worker that serves some queues has rooms"
        left[queue] -= 1
        if left[queue] >= 0:
            kept.append(head)
    return kept


def lanes_of(types: Sequence[str], queues: Iterable[str] | None) -> list[Lane]:
    listed: list[str | None] = [None] if queues is None else list(queues)
    return [(type_name, queue) for type_name in types for queue in listed]


def _look(
    connection: Connection, tables: Tables, lanes: Sequence[Lane], reach: int
) -> Iterator[tuple[Key, int, Lane]]:
    """Read the head of each lane in turn, with its priority."""
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


class _Statements:
    """Built once for a set of tables: what stays the same is not built again for each claim."""

    def __init__(self, tables: Tables) -> None:
        executions, workflows = tables.step_executions, tables.workflows
        listed = executions.c.id.in_(bindparam("ids", expanding=True))
        self.free: Select[Any] = select(executions.c.id).where(listed, executions.c.claimable)
        for name in MYSQL_NAMES:
            # It would choose the index of what is claimable, and lock everything there is in it.
            self.free = self.free.with_hint(executions, "FORCE INDEX (PRIMARY)", name)
        self.take = (
            update(executions)
            .where(listed)
            .values(
                state=StepState.IN_PROGRESS,
                claimable=False,
                wakes_at=None,
                worker_id=bindparam("claimed_by"),
                claim_token=bindparam("under_token"),
                # What was scheduled while this one waited for its turn starts no earlier than that.
                started_at=func.coalesce(
                    executions.c.started_at, later(executions.c.created_at, bindparam("now"))
                ),
            )
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
