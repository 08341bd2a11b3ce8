"""The claim on MySQL and MariaDB: select, lock, update and read, as UPDATE cannot return rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, func, select, update

from geneva_drive.states import StepState
from geneva_drive.storage.dialects.claim_request import (
    ClaimRequest,
    Taken,
    in_turn,
    lanes_of,
    later,
    look,
)
from geneva_drive.storage.schema.records import (
    CLAIMED_WORKFLOW_COLUMNS,
    EXECUTION_COLUMNS,
    ExecutionRecord,
    Key,
    WorkflowRecord,
)
from geneva_drive.storage.schema.tables import Tables

Lock = Callable[[Select[Any]], Select[Any]]


def claim(
    connection: Connection, tables: Tables, request: ClaimRequest, lock: Lock
) -> Sequence[Taken]:
    """Claim the first rows of the worker's lanes; `lock` skips what other workers have locked."""
    heads = _heads if request.named is None else _named
    ids = heads(connection, tables, request)
    if not ids:
        return []
    statements = _statements_for(tables)
    taken = _lock_free(connection, lock(statements.free), ids, request.limit)
    if not taken:
        return []
    connection.execute(
        statements.take,
        {
            "ids": taken,
            "claimed_by": request.worker_id,
            "under_token": request.claim_token,
            "now": request.now,
        },
    )
    return _read(connection, statements, taken)


def _lock_free(
    connection: Connection, free: Select[Any], ids: Sequence[Key], limit: int
) -> list[Key]:
    """Lock only the rows to claim, so that a worker that claims concurrently gets the next ones."""
    taken: list[Key] = []
    while ids and len(taken) < limit:
        wanted = limit - len(taken)
        tried, ids = ids[:wanted], ids[wanted:]
        found = set(connection.scalars(free, {"ids": tried}))
        taken += [key for key in tried if key in found]
    return taken


def _heads(connection: Connection, tables: Tables, request: ClaimRequest) -> list[Key]:
    """Return the keys that could be claimed, in order."""
    lanes = lanes_of(request.types, request.queues)
    return in_turn(request, look(connection, tables, lanes, request.reach))[: request.reach]


def _named(connection: Connection, tables: Tables, request: ClaimRequest) -> list[Key]:
    """Return the key of the named execution, if this worker serves it."""
    c = tables.step_executions.c
    query = select(c.id).where(c.id == request.named, c.type.in_(request.types))
    if request.queues is not None:
        query = query.where(c.queue.in_(list(request.queues)))
    return list(connection.scalars(query))


class _ClaimStatements:
    """The statements of every claim, built once per set of tables."""

    def __init__(self, tables: Tables) -> None:
        executions, workflows = tables.step_executions, tables.workflows
        listed = executions.c.id.in_(bindparam("ids", expanding=True))
        free = select(executions.c.id).where(listed, executions.c.claimable)
        # MySQL would choose the index of claimable rows, and lock all of them.
        self.free = force_index(free, executions, "PRIMARY")
        self.take = (
            update(executions)
            .where(listed)
            .values(
                state=StepState.IN_PROGRESS,
                claimable=False,
                wakes_at=None,
                worker_id=bindparam("claimed_by"),
                claim_token=bindparam("under_token"),
                # A slow clock must not start an execution before it was created.
                started_at=func.coalesce(
                    executions.c.started_at, later(executions.c.created_at, bindparam("now"))
                ),
            )
        )
        self.read = (
            select(
                *(executions.c[name] for name in EXECUTION_COLUMNS),
                *(workflows.c[name] for name in CLAIMED_WORKFLOW_COLUMNS),
            )
            .join_from(executions, workflows, executions.c.workflow_id == workflows.c.id)
            .where(listed)
        )


@lru_cache(maxsize=8)
def _statements_for(tables: Tables) -> _ClaimStatements:
    return _ClaimStatements(tables)


def _read(
    connection: Connection, statements: _ClaimStatements, taken: Sequence[Key]
) -> list[Taken]:
    border = len(EXECUTION_COLUMNS)
    found = {
        row[0]: (ExecutionRecord.read(row[:border]), WorkflowRecord.claimed(row[border:]))
        for row in connection.execute(statements.read, {"ids": taken})
    }
    return [found[key] for key in taken]


def force_index(query: Select[Any], table: Table, index: str) -> Select[Any]:
    for dialect_name in ("mysql", "mariadb"):
        query = query.with_hint(table, f"FORCE INDEX ({index})", dialect_name)
    return query
