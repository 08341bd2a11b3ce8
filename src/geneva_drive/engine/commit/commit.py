"""The one door through which state is written: many changes, one transaction, set by set."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from geneva_drive.clock import Clock
from geneva_drive.engine.commit import audit_trail
from geneva_drive.engine.commit.ending import Applied, Chaining, Ending
from geneva_drive.engine.commit.rows import (
    claim_values,
    execution_values,
    new_execution_values,
    position_values,
    workflow_values,
)
from geneva_drive.engine.graphs import successors
from geneva_drive.engine.graphs.summary import NodeEnd
from geneva_drive.engine.transitions.change import Change, ExecutionMove, NewExecution
from geneva_drive.engine.transitions.decide import decide
from geneva_drive.engine.transitions.loop_state import AT_THE_START
from geneva_drive.engine.transitions.partitions import together
from geneva_drive.errors import IllegalMove, StorageError
from geneva_drive.states import (
    ACTIVE_STEP_STATES,
    STEP_MOVES,
    WORKFLOW_MOVES,
    StepState,
)
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.storage.store import Store


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
    clock: Clock,
    *,
    chaining: Chaining | None = None,
    read_back: bool = False,
) -> list[Applied | None]:
    """Decide and write what follows from each ending; None for one whose claim was lost.

    `read_back` fetches the executions that were scheduled, for those who are told of them.
    """
    results: list[Applied | None] = [None] * len(endings)
    remaining = list(range(len(endings)))
    while remaining:
        turn = _Turn(connection, store, [endings[place] for place in remaining], clock)
        written = turn.write(chaining, read_back=read_back)
        places, remaining = remaining, []
        for place, is_taken, one in zip(places, turn.taken, written, strict=True):
            if is_taken:
                results[place] = one
            else:
                remaining.append(place)
    return results


class _Turn:
    """Endings decided and written together.

    Of a graph's nodes all that have ended, of any other workflow one: where several of its
    partitions have ended, each sees what the one before did.
    """

    def __init__(
        self, connection: Connection, store: Store, endings: Sequence[Ending], clock: Clock
    ) -> None:
        self._connection = connection
        self._store = store
        self._endings = endings
        self._workflows = store.workflows.lock(connection, [one.workflow_id for one in endings])
        self._executions = self._lock_executions()
        # Under the locks: whoever held them before has ended something earlier than this.
        self._now = clock.now()
        self.taken = [True] * len(endings)

    def _lock_executions(self) -> dict[Key, ExecutionRecord]:
        """Lock what ended; of what its claim has seen, only what others may have changed is read.

        That is nearly all there is. Of a loop, its own checkpoints have changed more.
        """
        store, connection = self._store, self._connection
        seen = {
            one.execution_id: one.seen[1]
            for one in self._endings
            if one.seen is not None and not one.may_loop
        }
        others = [one.execution_id for one in self._endings if one.execution_id not in seen]
        found = store.executions.lock(connection, others) if others else {}
        claims = store.executions.lock_claims(connection, seen) if seen else {}
        for key, (token, stop) in claims.items():
            found[key] = seen[key]._replace(claim_token=token, stop=stop)
        return found

    def write(self, chaining: Chaining | None, *, read_back: bool) -> list[Applied | None]:
        groups = self._groups()
        shares = self._store.executions.lock_shares(
            self._connection,
            {key for key, places in groups.items() if self._is_share(places[0])},
        )
        decided = [
            (self._decide(places, shares), [self._endings[place] for place in places])
            for places in groups.values()
        ]
        shared = write_ended(
            self._connection, self._store, decided, self._now, chaining, read_back=read_back
        )
        results: list[Applied | None] = [None] * len(self._endings)
        for places, parts in zip(groups.values(), shared, strict=True):
            for place, part in zip(places, parts, strict=True):
                results[place] = part
        return results

    def _groups(self) -> dict[Key, list[int]]:
        """Group those whose claim holds by workflow, and leave others for the next turn."""
        groups: dict[Key, list[int]] = {}
        for place, ending in enumerate(self._endings):
            if not self._is_held(ending):
                continue
            if ending.workflow_id not in groups:
                groups[ending.workflow_id] = [place]
            elif self._is_in_graph(place) and self._is_in_graph(groups[ending.workflow_id][0]):
                groups[ending.workflow_id].append(place)
            else:
                self.taken[place] = False
        return groups

    def _is_held(self, ending: Ending) -> bool:
        workflow = self._workflows.get(ending.workflow_id)
        execution = self._executions.get(ending.execution_id)
        if workflow is None or execution is None or execution.claim_token != ending.claim_token:
            return False
        # Otherwise a commit whose answer was lost has done some of it.
        return ending.saved_iterations in (None, execution.completed_iterations)

    def _is_in_graph(self, place: int) -> bool:
        ending = self._endings[place]
        return successors.is_in_graph(
            self._workflows[ending.workflow_id],
            self._executions[ending.execution_id],
            ending.definition,
        )

    def _is_share(self, place: int) -> bool:
        has_share = self._executions[self._endings[place].execution_id].share is not None
        return has_share and not self._is_in_graph(place)

    def _decide(self, places: Sequence[int], shares: Sequence[ExecutionRecord]) -> Change:
        ending = self._endings[places[0]]
        workflow = self._workflows[ending.workflow_id]
        execution = self._executions[ending.execution_id]
        if self._is_in_graph(places[0]):
            ends = [self._node_end(self._endings[place]) for place in places]
            return successors.settle(self._connection, self._store, workflow, ends, self._now)
        siblings = together(
            execution, [share for share in shares if share.workflow_id == workflow.id]
        )
        return decide(
            ending.definition,
            workflow,
            execution,
            ending.outcome,
            self._now,
            ending.position,
            siblings,
        )

    def _node_end(self, ending: Ending) -> NodeEnd:
        return NodeEnd(
            definition=ending.definition,
            execution=self._executions[ending.execution_id],
            outcome=ending.outcome,
            position=ending.position,
            stored=ending.stored,
        )


def write_ended(
    connection: Connection,
    store: Store,
    decided: Sequence[tuple[Change, Sequence[Ending]]],
    now: datetime,
    chaining: Chaining | None,
    *,
    read_back: bool = False,
) -> list[list[Applied]]:
    """Write what follows from endings, which are decided by workflow; give each its share."""
    changes = [change for change, _ in decided]
    chainable = Counter(one.workflow_id for _, ended in decided for one in ended if one.may_chain)
    is_any_new = any(change.schedule for change in changes)
    gate = _gate(connection, store, chaining if is_any_new else None, chainable)
    applied = write(connection, store, changes, now, gate=gate, read_back=read_back)
    return [one.shared_out(len(ended)) for one, (_, ended) in zip(applied, decided, strict=True)]


@dataclass(frozen=True, slots=True)
class _Gate:
    """Which of the new executions may be inserted already claimed."""

    chaining: Chaining
    places: Counter[Key]  # how many of each workflow may be taken: one for each that ended
    top_priority: int | None

    def admits(self, workflow_id: Key, new: NewExecution, now: datetime) -> bool:
        is_admitted = (
            self.places[workflow_id] > 0
            and self.chaining.admits(new, now)
            and (self.top_priority is None or new.priority >= self.top_priority)
        )
        if is_admitted:
            self.places[workflow_id] -= 1
        return is_admitted


def _gate(
    connection: Connection, store: Store, chaining: Chaining | None, places: Counter[Key]
) -> _Gate | None:
    if chaining is None or not places:
        return None
    top_priority = store.executions.top_priority(connection, chaining.types, chaining.queues)
    return _Gate(chaining, places, top_priority)


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
    audit_trail.leave(connection, store, changes, now)
    chaining = gate.chaining if gate is not None and any_claimed else None
    scheduled = _read_scheduled(connection, store, changes, chaining, read_back=read_back)
    passed_over = _read_passed_over(connection, store, changes) if read_back else []
    return [
        Applied(
            change=change,
            workflow=change.record._replace(**workflow_values(change, now)),
            scheduled=[row for row in scheduled if row.workflow_id == change.record.id],
            passed_over=[row for row in passed_over if row.workflow_id == change.record.id],
        )
        for change in changes
    ]


def _read_scheduled(
    connection: Connection,
    store: Store,
    changes: Sequence[Change],
    claimed_by: Chaining | None,
    *,
    read_back: bool,
) -> list[ExecutionRecord]:
    """Read what was inserted: all of it, or what was inserted already claimed."""
    planned = {(change.record.id, new.node) for change in changes for new in change.schedule}
    if read_back:
        active = [
            one
            for one in store.attempts.latest(connection, sorted(planned))
            if one.state in ACTIVE_STEP_STATES
        ]
    elif claimed_by is not None:
        # Under this token another transaction may have claimed before.
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
        (change.record.id, new.node)
        for change in changes
        for new in change.schedule
        if new.state is not StepState.SCHEDULED
    ]
    return store.attempts.latest(connection, nodes) if nodes else []


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
    nodes = [(record.id, new.node) for record, new in planned if new.attempt is None]
    attempts = store.attempts.last_numbers(connection, nodes) if nodes else {}
    rows = []
    any_claimed = False
    for record, new in planned:
        attempt = new.attempt or attempts.get((record.id, new.node), 0) + 1
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
