"""The one door through which state is written: many changes, one transaction, set by set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from geneva_drive.definition.definition import Definition
from geneva_drive.engine.change import Change, ExecutionMove, NewExecution
from geneva_drive.engine.decide import decide
from geneva_drive.engine.outcome import StepOutcome
from geneva_drive.engine.position import AT_THE_START, Position
from geneva_drive.engine.rows import (
    checkpoint_values,
    claim_values,
    execution_values,
    new_execution_values,
    position_values,
    workflow_values,
)
from geneva_drive.engine.shares import together
from geneva_drive.errors import IllegalMove, StorageError
from geneva_drive.states import (
    STEP_MOVES,
    WORKFLOW_MOVES,
    StepState,
)
from geneva_drive.storage.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """An execution that was run under a claim, and what came of it."""

    workflow_id: Key
    execution_id: Key
    claim_token: str
    definition: Definition | None
    outcome: StepOutcome
    may_chain: bool = False
    position: Position | None = None  # where the loop of a resumable step stands
    saved_iterations: int | None = None  # what has to be saved of it, where items commit with it
    # What the claim saw; None for an execution that somebody else had claimed.
    seen: tuple[WorkflowRecord, ExecutionRecord] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chaining:
    """Who may take the next step in the same breath, and under which token."""

    worker_id: str
    claim_token: str
    types: Sequence[str]
    queues: frozenset[str] | None
    limited_queues: Collection[str] = ()

    def admits(self, new: NewExecution, now: datetime) -> bool:
        """Say whether a new execution may be taken at all, however urgent others are."""
        return (
            new.state is StepState.SCHEDULED
            and new.stop is None
            and new.scheduled_for <= now
            and (self.queues is None or new.queue in self.queues)
            # Whether there is a slot of its limit is known only when it asks for one.
            and not new.is_limited
            and new.queue not in self.limited_queues
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A change that was written, and the next execution if it was claimed with it."""

    change: Change
    workflow: WorkflowRecord
    # The new executions, where somebody wants to know them.
    scheduled: Sequence[ExecutionRecord] = ()
    passed_over: Sequence[ExecutionRecord] = ()  # new ones that were over when they were written

    @property
    def has_failure(self) -> bool:
        return any(move.state is StepState.FAILED for move in self.change.executions)

    @property
    def leaves_something_due(self) -> bool:
        """Say whether there may be something for another worker, or for this one, to claim."""
        is_back = any(move.claimable for move in self.change.executions)
        return is_back or (bool(self.change.schedule) and self.chained is None)

    @property
    def chained(self) -> ExecutionRecord | None:
        """The new execution, if it was inserted already claimed."""
        return next((one for one in self.scheduled if one.claim_token is not None), None)


class ChangedUnderLock(StorageError):
    def __init__(self, what: str, expected: int, found: int) -> None:
        super().__init__(
            f"{found} of {expected} {what} were still as they had been read under their lock. "
            f"Nothing was written. Does something else write to these tables?"
        )


def apply(
    connection: Connection,
    store: Store,
    endings: Sequence[Ending],
    now: datetime,
    *,
    chaining: Chaining | None = None,
    read_back: bool = False,
) -> list[Applied | None]:
    """Decide and write what follows from each ending; None for one whose claim was lost.

    `read_back` fetches the executions that were scheduled, for those who are told of them.
    """
    results: list[Applied | None] = [None] * len(endings)
    remaining = list(enumerate(endings))
    while remaining:
        # Of a workflow with partitions several may have ended: each sees what the one before did.
        turn = list(
            {ending.workflow_id: (place, ending) for place, ending in reversed(remaining)}.values()
        )
        taken = {place for place, _ in turn}
        remaining = [(place, ending) for place, ending in remaining if place not in taken]
        applied = _apply_turn(
            connection,
            store,
            [ending for _, ending in turn],
            now,
            chaining=chaining,
            read_back=read_back,
        )
        for place, one in zip((place for place, _ in turn), applied, strict=True):
            results[place] = one
    return results


def _apply_turn(
    connection: Connection,
    store: Store,
    endings: Sequence[Ending],
    now: datetime,
    *,
    chaining: Chaining | None,
    read_back: bool,
) -> list[Applied | None]:
    workflows = store.workflows.lock(connection, [ending.workflow_id for ending in endings])
    executions = store.executions.lock(connection, [ending.execution_id for ending in endings])
    shares = store.executions.lock_shares(
        connection, {e.workflow_id for e in executions.values() if e.share}
    )
    decided: list[Change | None] = [
        _decide_one(ending, workflows, executions, shares, now) for ending in endings
    ]
    chainable = {
        ending.workflow_id
        for ending, change in zip(endings, decided, strict=True)
        if ending.may_chain and change is not None
    }
    changes = [change for change in decided if change is not None]
    gate = _gate(connection, store, chaining, chainable)
    written = iter(write(connection, store, changes, now, gate=gate, read_back=read_back))
    return [None if change is None else next(written) for change in decided]


def _decide_one(
    ending: Ending,
    workflows: dict[Key, WorkflowRecord],
    executions: dict[Key, ExecutionRecord],
    shares: Sequence[ExecutionRecord],
    now: datetime,
) -> Change | None:
    workflow = workflows.get(ending.workflow_id)
    execution = executions.get(ending.execution_id)
    if workflow is None or execution is None or execution.claim_token != ending.claim_token:
        return None
    if ending.saved_iterations not in (None, execution.completed_iterations):
        return None  # a commit whose answer was lost has done some of it
    of_workflow = [share for share in shares if share.workflow_id == workflow.id]
    return decide(
        ending.definition,
        workflow,
        execution,
        ending.outcome,
        now,
        ending.position,
        together(execution, of_workflow),
    )


@dataclass(frozen=True, slots=True)
class _Gate:
    """Which of the new executions may be inserted already claimed."""

    chaining: Chaining
    workflow_ids: set[Key]
    top_priority: int | None

    def admits(self, workflow_id: Key, new: NewExecution, now: datetime) -> bool:
        return (
            workflow_id in self.workflow_ids
            and self.chaining.admits(new, now)
            and (self.top_priority is None or new.priority >= self.top_priority)
        )


def _gate(
    connection: Connection, store: Store, chaining: Chaining | None, workflow_ids: set[Key]
) -> _Gate | None:
    if chaining is None or not workflow_ids:
        return None
    top_priority = store.executions.top_priority(connection, chaining.types, chaining.queues)
    return _Gate(chaining, workflow_ids, top_priority)


def write(
    connection: Connection,
    store: Store,
    changes: Sequence[Change],
    now: datetime,
    *,
    gate: _Gate | None = None,
    read_back: bool = False,
) -> list[Applied]:
    """Write changes of workflows that are locked, set by set.

    A row ends before its successor is inserted: the database allows one active at a time.
    """
    _move_executions(
        connection, store, [move for change in changes for move in change.executions], now
    )
    _move_workflows(connection, store, changes, now)
    any_claimed = _insert_executions(connection, store, changes, now, gate)
    _append_checkpoints(connection, store, changes, now)
    _append_audit_entries(connection, store, changes, now)
    _add_dead_letters(connection, store, changes, now)
    scheduled: list[ExecutionRecord] = []
    if any_claimed or read_back:
        planned = {(change.record.id, new.node) for change in changes for new in change.schedule}
        active = store.executions.active_of(connection, sorted({key for key, _ in planned}))
        scheduled = [row for row in active if (row.workflow_id, row.node_id) in planned]
    passed_over = _read_passed_over(connection, store, changes) if read_back else []
    return [
        Applied(
            change=change,
            workflow=replace(change.record, **workflow_values(change, now)),
            scheduled=[row for row in scheduled if row.workflow_id == change.record.id],
            passed_over=[row for row in passed_over if row.workflow_id == change.record.id],
        )
        for change in changes
    ]


def _read_passed_over(
    connection: Connection, store: Store, changes: Sequence[Change]
) -> list[ExecutionRecord]:
    nodes = [
        (change.record.id, new.node)
        for change in changes
        for new in change.schedule
        if new.state is not StepState.SCHEDULED
    ]
    return store.executions.latest(connection, nodes) if nodes else []


def _move_executions(
    connection: Connection, store: Store, moves: Iterable[ExecutionMove], now: datetime
) -> None:
    groups: dict[tuple[tuple[str, Any], ...], list[ExecutionRecord]] = defaultdict(list)
    for move in moves:
        if move.state is not move.record.state and move.state not in STEP_MOVES[move.record.state]:
            raise IllegalMove("Execution", move.record.id, move.record.state, move.state)
        groups[tuple(execution_values(move, now).items())].append(move.record)
    for values, records in groups.items():
        moved = store.executions.move(connection, records, dict(values))
        if moved != len(records):
            raise ChangedUnderLock("executions", len(records), moved)


def _move_workflows(
    connection: Connection, store: Store, changes: Sequence[Change], now: datetime
) -> None:
    groups: dict[tuple[Any, ...], list[Key]] = defaultdict(list)
    for change in changes:
        former, target = change.record.state, change.workflow.state
        if target is not former and target not in WORKFLOW_MOVES[former]:
            raise IllegalMove("Workflow", change.record.id, former, target)
        key = (former, tuple(workflow_values(change, now).items()))
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
    gate: _Gate | None,
) -> bool:
    """Insert what is scheduled; True if some of it is claimed already."""
    planned = [(change.record, new) for change in changes for new in change.schedule]
    if not planned:
        return False
    nodes = [(record.id, new.node) for record, new in planned]
    attempts = store.executions.last_attempts(connection, nodes)
    rows = []
    any_claimed = False
    for record, new in planned:
        attempt = attempts.get((record.id, new.node), 0) + 1
        row = new_execution_values(record, new, attempt, now)
        row |= position_values(new.position or AT_THE_START) | {"share": new.share}
        # Of a step that was divided into shares, whoever is free takes one.
        is_alone = new.share is None
        if gate is not None and is_alone and gate.admits(record.id, new, now):
            row |= claim_values(gate.chaining.worker_id, gate.chaining.claim_token, now)
            any_claimed = True
        rows.append(row)
    store.executions.insert(connection, rows)
    return any_claimed


def _append_checkpoints(
    connection: Connection, store: Store, changes: Sequence[Change], now: datetime
) -> None:
    store.checkpoints.append(
        connection,
        [
            row
            for change in changes
            for move in change.executions
            for row in checkpoint_values(move, now)
        ],
    )


def _append_audit_entries(
    connection: Connection, store: Store, changes: Sequence[Change], now: datetime
) -> None:
    store.audit_entries.append(
        connection,
        [
            {
                "workflow_id": change.record.id,
                "command": change.audit.command,
                "actor": change.audit.actor,
                "reason": change.audit.reason,
                "at": now,
            }
            for change in changes
            if change.audit
        ],
    )


def _add_dead_letters(
    connection: Connection, store: Store, changes: Sequence[Change], now: datetime
) -> None:
    store.dead_letters.add(
        connection,
        [
            {
                "workflow_id": change.record.id,
                "step_name": change.workflow.paused_step_name or change.record.next_step_name,
                "reason": change.dead_letter,
                "state": "pending",
                "created_at": now,
            }
            for change in changes
            if change.dead_letter
        ],
    )
