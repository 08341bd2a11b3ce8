"""Write changes of locked workflows: one guarded statement for all rows with equal values."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from geneva_drive.engine.commit import change_records
from geneva_drive.engine.commit.closed_waits import close_passed_waits, close_waits
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.commit.next_claim import ChainGate, NextClaim, open_gate
from geneva_drive.engine.commit.rows import (
    claim_values,
    execution_values,
    new_execution_values,
    position_values,
    workflow_values,
)
from geneva_drive.engine.transitions.change import Change, ExecutionMove
from geneva_drive.engine.transitions.loop_position import AT_THE_START
from geneva_drive.errors import IllegalMove, StorageError
from geneva_drive.states import ACTIVE_STEP_STATES, STEP_MOVES, WORKFLOW_MOVES, StepState
from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.dialects.kept_writes import KeptWrite
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.storage.store import Store


class ChangedUnderLock(StorageError):
    def __init__(self, what: str, expected: int, found: int) -> None:
        super().__init__(
            f"Only {found} of {expected} {what} were unchanged since they were locked. "
            f"Nothing was written. Does another program write to these tables?"
        )


def write_ended(
    connection: Connection,
    store: Store,
    decided: Sequence[tuple[Change, Sequence[EndedRun]]],
    now: datetime,
    chaining: NextClaim | None,
    *,
    read_back: bool = False,
) -> list[list[Applied]]:
    """Write decided changes; for each, return one `Applied` per ending that it combines."""
    changes = [change for change, _ in decided]
    chainable = Counter(one.workflow_id for _, ended in decided for one in ended if one.may_chain)
    is_any_new = any(change.schedule for change in changes)
    gate = open_gate(connection, store, chaining if is_any_new else None, chainable)
    applied = write(connection, store, changes, now, gate=gate, read_back=read_back)
    return [one.split(len(ended)) for one, (_, ended) in zip(applied, decided, strict=True)]


def write(
    connection: Connection,
    store: Store,
    changes: Sequence[Change],
    now: datetime,
    *,
    gate: ChainGate | None = None,
    read_back: bool = False,
) -> list[Applied]:
    """Write changes of workflows that the caller has locked.

    Executions end before their successors are inserted: a unique index allows one active
    execution per slot.
    """
    _check_moves(changes)
    moves = [move for change in changes for move in change.executions]
    _move_executions(connection, store, moves, now)
    close_waits(connection, store, moves, now)
    close_passed_waits(connection, store, changes)
    _drop_pending(connection, store, changes, now)
    _move_workflows(connection, store, changes, now)
    any_claimed = _insert_executions(connection, store, changes, now, gate)
    change_records.append(connection, store, changes, now)
    chaining = gate.chaining if gate is not None and any_claimed else None
    scheduled = group_by_workflow(
        _read_scheduled(connection, store, changes, chaining, read_back=read_back)
    )
    passed_over = group_by_workflow(
        _read_passed_over(connection, store, changes) if read_back else ()
    )
    return [
        Applied(
            change=change,
            workflow=change.record._replace(**workflow_values(change, now)),
            scheduled=scheduled.get(change.record.id, ()),
            passed_over=passed_over.get(change.record.id, ()),
        )
        for change in changes
    ]


def write_together(
    connection: Connection,
    store: Store,
    change: Change,
    now: datetime,
    *,
    beside: Sequence[KeptWrite] = (),
    notice: Notice | None = None,
) -> Applied:
    """Write a change that inserts and ends no execution, with other writes, in few round trips.

    Each write in `beside` must find one row, which the caller has read under the same lock. The
    notice is sent with the commit if an execution becomes due.
    """
    _check_moves([change])
    values = workflow_values(change, now)
    writes = [
        *beside,
        *(store.executions.moving(m.record, execution_values(m, now)) for m in change.executions),
        store.workflows.moving([change.record.id], change.record.state, values),
    ]
    records = list(change_records.writes_of(store, change, now))
    due = [str(move.record.id) for move in change.executions if move.claimable]
    if notice is not None:
        notice = replace(notice, named=due[0]) if due else None
    dialect = store.database.dialect
    written = dialect.write_together(connection, [*writes, *records], notice)[: len(writes)]
    if written != [1] * len(writes):
        raise ChangedUnderLock("rows", len(writes), written.count(1))
    return Applied(change=change, workflow=change.record._replace(**values))


def group_by_workflow(rows: Iterable[ExecutionRecord]) -> Mapping[Key, list[ExecutionRecord]]:
    groups: dict[Key, list[ExecutionRecord]] = defaultdict(list)
    for row in rows:
        groups[row.workflow_id].append(row)
    return groups


def _read_scheduled(
    connection: Connection,
    store: Store,
    changes: Sequence[Change],
    claimed_by: NextClaim | None,
    *,
    read_back: bool,
) -> list[ExecutionRecord]:
    """Read the inserted executions: all active ones, or only those inserted already claimed."""
    planned = {(change.record.id, new.node_id) for change in changes for new in change.schedule}
    if read_back:
        active = [
            one
            for one in store.attempts.latest(connection, sorted(planned))
            if one.state in ACTIVE_STEP_STATES
        ]
    elif claimed_by is not None:
        # An earlier transaction may have claimed other rows under the same token.
        active = store.executions.with_token(
            connection, claimed_by.worker_id, claimed_by.claim_token
        )
    else:
        return []
    return [row for row in active if (row.workflow_id, row.node_id) in planned]


def _read_passed_over(
    connection: Connection, store: Store, changes: Sequence[Change]
) -> list[ExecutionRecord]:
    nodes = [
        (change.record.id, new.node_id)
        for change in changes
        for new in change.schedule
        # Pending workers of a batch are reported once they are scheduled.
        if new.state not in (StepState.SCHEDULED, StepState.PENDING)
    ]
    return store.attempts.latest(connection, nodes) if nodes else []


def _check_moves(changes: Sequence[Change]) -> None:
    for change in changes:
        for move in change.executions:
            state = move.record.state
            if move.state is not state and move.state not in STEP_MOVES[state]:
                raise IllegalMove("Execution", move.record.id, state, move.state)
        former, target = change.record.state, change.workflow.state
        if target is not former and target not in WORKFLOW_MOVES[former]:
            raise IllegalMove("Workflow", change.record.id, former, target)


def _move_executions(
    connection: Connection, store: Store, moves: Iterable[ExecutionMove], now: datetime
) -> None:
    groups: dict[tuple[tuple[str, Any], ...], list[ExecutionRecord]] = defaultdict(list)
    for move in moves:
        groups[tuple(execution_values(move, now).items())].append(move.record)
    for values, records in groups.items():
        moved = store.executions.move(connection, records, dict(values))
        if moved != len(records):
            raise ChangedUnderLock("executions", len(records), moved)


def _drop_pending(
    connection: Connection, store: Store, changes: Sequence[Change], now: datetime
) -> None:
    dropped = {
        change.record.id: change.drops_pending
        for change in changes
        if change.drops_pending is not None
    }
    if dropped:
        store.executions.cancel_pending(connection, dropped, now)


def _move_workflows(
    connection: Connection, store: Store, changes: Sequence[Change], now: datetime
) -> None:
    groups: dict[tuple[Any, ...], list[Key]] = defaultdict(list)
    for change in changes:
        key = (change.record.state, tuple(workflow_values(change, now).items()))
        groups[key].append(change.record.id)
    for (former, values), ids in groups.items():
        moved = store.workflows.move(connection, ids, former, dict(values))
        if moved != len(ids):
            raise ChangedUnderLock("workflows", len(ids), moved)


def _insert_executions(
    connection: Connection,
    store: Store,
    changes: Sequence[Change],
    now: datetime,
    gate: ChainGate | None,
) -> bool:
    """Insert the planned executions; True if one of them is inserted already claimed."""
    planned = [(change.record, new) for change in changes for new in change.schedule]
    if not planned:
        return False
    nodes = [(record.id, new.node_id) for record, new in planned if new.attempt is None]
    attempts = store.attempts.last_numbers(connection, nodes) if nodes else {}
    rows = []
    any_claimed = False
    for record, new in planned:
        attempt = new.attempt or attempts.get((record.id, new.node_id), 0) + 1
        row = new_execution_values(record, new, attempt, now)
        row |= position_values(new.position or AT_THE_START)
        # Partitions and workers of a batch are never chained: any free worker may take one.
        is_whole = new.share is None
        if gate is not None and is_whole and gate.admits(record.id, new, now):
            row |= claim_values(gate.chaining.worker_id, gate.chaining.claim_token, now)
            any_claimed = True
        rows.append(row)
    store.executions.insert(connection, rows)
    return any_claimed
