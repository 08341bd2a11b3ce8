"""The claim on PostgreSQL: one statement, which looks at each lane's head only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ARRAY, TEXT, Connection, Integer, TextualSelect, bindparam, text

from geneva_drive.storage.claims import Claim, Taken
from geneva_drive.storage.records import (
    EXECUTION_COLUMNS,
    WORKFLOW_COLUMNS,
    ExecutionRecord,
    WorkflowRecord,
)
from geneva_drive.storage.tables import Tables

# The candidates are found without locks: locking inside each lane would lock far more than is
# taken. Those that another worker is taking are passed over. The rows are sent in turn.
_STATEMENT = """
WITH lanes AS (
    SELECT e.id, e.priority{room},
           row_number() OVER (PARTITION BY {lane} ORDER BY e.priority DESC, e.id) AS turn
    FROM {lanes}
    CROSS JOIN LATERAL (
        SELECT id, priority FROM {executions}
        WHERE claimable AND type = lane.type{on_queue}
        ORDER BY priority DESC, id LIMIT :reach
    ) e
), head AS MATERIALIZED (
    SELECT id, priority, turn FROM lanes{where_room}
    ORDER BY priority DESC, turn, id LIMIT :reach
), taken AS (
    SELECT e.id, head.turn FROM head JOIN {executions} e ON e.id = head.id
    WHERE e.claimable
    ORDER BY head.priority DESC, head.turn, head.id LIMIT :limit
    FOR UPDATE OF e SKIP LOCKED
), claimed AS (
    UPDATE {executions} e
    SET state = 'in_progress', claimable = false, wakes_at = NULL,
        worker_id = :worker_id, claim_token = :claim_token, started_at = :now
    FROM taken WHERE e.id = taken.id
    RETURNING e.*, taken.turn
)
SELECT {columns} FROM claimed e JOIN {workflows} w ON w.id = e.workflow_id
ORDER BY e.priority DESC, e.turn, e.id
"""


_QUEUES = "unnest(CAST(:queues AS text[]), CAST(:rooms AS int[])) AS q(queue, room)"
# Of each queue no more are looked at than there is room for.
_PLACE = """, lane.room,
           row_number() OVER (PARTITION BY lane.queue ORDER BY e.priority DESC, e.id) AS place"""


@lru_cache(maxsize=8)
def _statement_for(tables: Tables, by_queue: bool) -> TextualSelect:
    executions, workflows = tables.step_executions, tables.workflows
    lanes = "unnest(CAST(:types AS text[])) AS lane(type)"
    written = _STATEMENT.format(
        lane="lane.type, lane.queue" if by_queue else "lane.type",
        lanes=f"(SELECT * FROM {lanes}, {_QUEUES}) AS lane" if by_queue else lanes,
        room=_PLACE if by_queue else "",
        where_room=" WHERE place <= room" if by_queue else "",
        on_queue=" AND queue = lane.queue" if by_queue else "",
        executions=tables.quoted(executions),
        workflows=tables.quoted(workflows),
        columns=", ".join(
            [f"e.{name}" for name in EXECUTION_COLUMNS] + [f"w.{name}" for name in WORKFLOW_COLUMNS]
        ),
    )
    binds: list[Any] = [bindparam("types", type_=ARRAY(TEXT))]
    if by_queue:
        binds += [bindparam("queues", type_=ARRAY(TEXT)), bindparam("rooms", type_=ARRAY(Integer))]
    return (
        text(written)
        .bindparams(*binds, bindparam("now", type_=executions.c.started_at.type))
        .columns(
            *(executions.c[name] for name in EXECUTION_COLUMNS),
            *(workflows.c[name] for name in WORKFLOW_COLUMNS),
        )
    )


def claim(connection: Connection, tables: Tables, wish: Claim) -> Sequence[Taken]:
    values = {
        "types": list(wish.types),
        "reach": wish.reach,
        "limit": wish.limit,
        "worker_id": wish.worker_id,
        "claim_token": wish.claim_token,
        "now": wish.now,
    }
    if wish.queues is not None:
        values["queues"], values["rooms"] = list(wish.queues), list(wish.queues.values())
    rows = connection.execute(_statement_for(tables, wish.queues is not None), values)
    border = len(EXECUTION_COLUMNS)
    return [(ExecutionRecord.read(row[:border]), WorkflowRecord.read(row[border:])) for row in rows]
