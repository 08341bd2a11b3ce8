"""Expansions: create the workers of batches and maps, count their ends, and start the next ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.engine.graphs.dependency_counts import plan_stored_node
from geneva_drive.engine.graphs.summary import Hold, NodeEnd, Summary, WorkerEnds
from geneva_drive.engine.transitions.batch_workers import BatchWorker, worker_id
from geneva_drive.engine.transitions.change import ExecutionMove, ExpansionChange, NewExecution
from geneva_drive.engine.transitions.outcome import Expanded
from geneva_drive.engine.transitions.planned_batch_workers import plan_idle_worker, plan_workers
from geneva_drive.engine.transitions.planned_executions import plan_node
from geneva_drive.states import (
    UNDONE_STEP_STATES,
    ExpansionKind,
    FailureStrategy,
    Outcome,
    StepState,
    is_done,
)
from geneva_drive.storage.schema.expansion_record import ExpansionRecord
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.statements.expansions import WorkerAttempt
from geneva_drive.storage.store import Store


def settle_expansions(connection: Connection, store: Store, found: Summary, now: datetime) -> None:
    """Add the effects of expanded nodes and ended workers to a summary.

    The caller holds the workflow's lock. The cost grows with the ends, not with the batch.
    """
    for end, move in found.expanded:
        _expand(connection, store, found, end, move, now)
    if not found.workers or found.closing is not None:
        return
    records = store.expansions.of(connection, found.workflow.id)
    changed = []
    for node_id, ends in found.workers.items():
        before = records[node_id]
        record = _counted(before, ends)
        _judge(found, before, record, ends)
        changed.append(record)
    for record in changed:  # after all are judged: a held workflow starts no worker
        if found.is_plain:
            record, moves = start_pending(connection, store, record, now)
            found.moves |= {move.record.id: move for move in moves}
        store.expansions.save(connection, record)


def _expand(
    connection: Connection,
    store: Store,
    found: Summary,
    end: NodeEnd,
    move: ExecutionMove,
    now: datetime,
) -> None:
    """Create an expansion with all its workers; the primary key refuses a second expansion."""
    assert isinstance(end.outcome, Expanded), "it is listed as expanded"
    planned = _planned_worker(connection, store, found.workflow, end, move.record, now)
    record = _record_of(end.outcome, found.workflow.id, planned.ancestry_hash, now)
    store.expansions.insert(connection, record)
    found.expansions.append(_changed(record, move.record, is_over=False))
    workers = end.outcome.workers
    found.planned += plan_workers(planned, workers, record.started)
    if end.outcome.kind is ExpansionKind.BATCH:
        found.done.append(move)
        if not workers:
            found.planned.append(plan_idle_worker(planned, record.node_id))
    if not workers:
        _end(found, record, move.record)


def _planned_worker(
    connection: Connection,
    store: Store,
    workflow: WorkflowRecord,
    end: NodeEnd,
    expanded: ExecutionRecord,
    now: datetime,
) -> NewExecution:
    """Plan an execution with everything that all workers have in common."""
    outcome, parents = end.outcome, [expanded.ancestry_hash]
    assert isinstance(outcome, Expanded), "it is listed as expanded"
    assert end.definition is not None, "this outcome comes from running the class"
    if workflow.type == DYNAMIC_TYPE:
        key = workflow.id, outcome.node_id
        stored = store.graphs.nodes(connection, [key])[key]
        planned = plan_stored_node(workflow, stored, now, parents)
    else:
        node = end.definition.require(outcome.node_id)
        at = now + node.options.wait
        planned = plan_node(end.definition, workflow, node, at, parents)
    if outcome.kind is ExpansionKind.MAP:
        # A map is one node, whose wait was over before its items were found.
        planned = replace(planned, scheduled_for=now, ancestry_hash=expanded.ancestry_hash)
    # Workers have earlier attempts only if the expanding node has run before.
    return replace(planned, attempt=None if expanded.attempt_number > 1 else 1)


def _record_of(
    outcome: Expanded, workflow_id: Key, ancestry_hash: str | None, now: datetime
) -> ExpansionRecord:
    terms, total = outcome.terms, len(outcome.workers)
    sizes = [worker.size for worker in outcome.workers]
    tolerate = terms.tolerate
    is_map = outcome.kind is ExpansionKind.MAP
    items = total if is_map else sum(size for size in sizes if size is not None)
    return ExpansionRecord(
        workflow_id=workflow_id,
        node_id=outcome.node_id,
        kind=outcome.kind,
        ancestry_hash=ancestry_hash,
        total=total,
        started=total if terms.parallelism is None else min(total, terms.parallelism),
        requeued=0,
        done=0,
        failed=0,
        items=items if is_map or None not in sizes else None,
        items_done=0,
        item_errors=0,
        parallelism=terms.parallelism,
        strategy=terms.failure_strategy,
        tolerated_workers=tolerate.workers if tolerate else None,
        tolerated_items=tolerate.items if tolerate else None,
        tolerated_percent=tolerate.percent if tolerate else None,
        reason=outcome.reason,
        created_at=now,
    )


def _counted(record: ExpansionRecord, ends: WorkerEnds) -> ExpansionRecord:
    moves = [*ends.done, *(move for move, _ in ends.failed)]
    items = sum(_items_done(record.kind, one.record) for one in ends.done)
    return replace(
        record,
        done=record.done + len(ends.done),
        failed=record.failed + len(ends.failed),
        items_done=record.items_done + items,
        item_errors=record.item_errors + sum(move.record.item_errors for move in moves),
    )


def _judge(
    found: Summary, before: ExpansionRecord, record: ExpansionRecord, ends: WorkerEnds
) -> None:
    """End the batch or map if it is over; hold the workflow if it has too many failures."""
    last = (*ends.done, *(move for move, _ in ends.failed))[-1]
    if record.is_over:
        _end(found, record, last.record)
    has_new = record.failed > before.failed or record.item_errors > before.item_errors
    is_too_much = record.exceeds_tolerance and (
        (record.strategy is FailureStrategy.FAIL_FAST and has_new)
        or (record.strategy is FailureStrategy.ISOLATE and record.is_complete)
    )
    if is_too_much or (record.is_complete and record.is_blocked):
        found.hold = found.hold or _hold_by(record, ends)
        found.dead_letter = found.dead_letter or ends.dead_letter


def _hold_by(record: ExpansionRecord, ends: WorkerEnds) -> Hold:
    name = record.node_id
    if not record.has_too_many_failures:
        items = "1 item" if record.item_errors == 1 else f"{record.item_errors} items"
        tolerated = record.tolerated_items
        are = f"{tolerated} {'is' if tolerated == 1 else 'are'} tolerated"
        return Hold(f"{items} of {name!r} failed, and {are}.", name)
    if record.strategy is FailureStrategy.FAIL_FAST and ends.failed:
        return ends.failed[0][1]
    return Hold(f"{record.failed} of the {record.total} workers of {name!r} failed.", name)


def _changed(
    record: ExpansionRecord, execution: ExecutionRecord, *, is_over: bool
) -> ExpansionChange:
    return ExpansionChange(record=record, is_over=is_over, execution_id=execution.id)


def _end(found: Summary, record: ExpansionRecord, worker: ExecutionRecord) -> None:
    """Record the end of the whole batch or map, so that its dependants can run.

    The whole has no row of its own, so the row of its last worker represents it.
    """
    found.expansions.append(_changed(record, worker, is_over=True))
    whole = worker._replace(
        step_name=record.node_id, node_id=record.node_id, ancestry_hash=record.ancestry_hash
    )
    move = ExecutionMove(record=whole, state=StepState.COMPLETED, outcome=Outcome.SUCCESS)
    found.done.append(move)


def start_pending(
    connection: Connection,
    store: Store,
    record: ExpansionRecord,
    now: datetime,
    *,
    only_again: bool = False,
) -> tuple[ExpansionRecord, list[ExecutionMove]]:
    """Plan the start of as many pending workers as may run now, requeued workers first."""
    free = record.startable
    if not free:
        return record, []
    again: list[ExecutionRecord] = []
    if record.requeued:
        waiting = store.attempts.requeued_workers(connection, record.workflow_id)
        again = [row for row in waiting if BatchWorker.of(row).expansion == record.node_id][:free]
    unstarted = 0 if only_again else record.total - record.started
    count = min(free - len(again), unstarted)
    numbers = range(record.started + 1, record.started + 1 + count)
    nodes = [(record.workflow_id, worker_id(record.node_id, number)) for number in numbers]
    rows = store.attempts.latest(connection, nodes) if nodes else []
    moves = [_started(row, now) for row in (*again, *rows) if row.state is StepState.PENDING]
    started, requeued = record.started + count, record.requeued - len(again)
    return replace(record, started=started, requeued=requeued), moves


def _started(record: ExecutionRecord, now: datetime) -> ExecutionMove:
    is_due = record.scheduled_for <= now
    return ExecutionMove(
        record=record,
        state=StepState.SCHEDULED,
        claimable=is_due,
        wakes_at=None if is_due else record.scheduled_for,
    )


def recounted(record: ExpansionRecord, workers: Iterable[WorkerAttempt]) -> ExpansionRecord:
    """Return the expansion with counts recomputed from its workers' rows."""
    own = [(BatchWorker.load(row.share), row) for row in workers]
    rows = [row for worker, row in own if worker and worker.expansion == record.node_id]
    rows = [row for row in rows if row.node_id != worker_id(record.node_id, 0)]
    done = [row for row in rows if is_done(row.state, row.outcome)]
    ended = [row for row in rows if row.state in UNDONE_STEP_STATES]
    failed = [row for row in ended if row.outcome is not Outcome.PAUSED_BY_FLOW_CONTROL]
    pending = [row for row in rows if row.state is StepState.PENDING]
    requeued = sum(row.attempt_number > 1 for row in pending)
    return replace(
        record,
        started=record.total - (len(pending) - requeued),
        requeued=requeued,
        done=len(done),
        failed=len(failed),
        items_done=sum(_items_done(record.kind, row) for row in done),
        item_errors=sum(row.item_errors for row in (*done, *failed)),
    )


def _items_done(kind: ExpansionKind, row: WorkerAttempt | ExecutionRecord) -> int:
    if kind is ExpansionKind.MAP:
        return 1
    worker = BatchWorker.load(row.share)
    size = worker.size if worker else None
    return row.completed_iterations if size is None else size
