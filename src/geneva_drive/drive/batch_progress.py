"""The progress of the batches and maps of a workflow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.definition.dynamic.stored_batch import worker_stem
from geneva_drive.states import ENDED_WORKFLOW_STATES, ExpansionKind, WorkflowState
from geneva_drive.storage.schema.expansion_record import ExpansionRecord
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.statements.expansions import WorkersUnderWay
from geneva_drive.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """The workers of a batch, counted by state, and the items that they have done.

    In a map, each item is a worker.
    """

    name: str  # of the batch or map
    node: str  # of its workers: those of "process" are "process_001" and so on
    kind: ExpansionKind
    total: int
    done: int
    running: int
    pending: int  # they wait for their turn, for a worker process, or for another attempt
    failed: int  # for good
    items_done: int  # for running workers, as of their last checkpoints
    items_total: int | None  # None if unknown
    items_failed: int  # skipped by the workers that have ended
    parallelism: int | None  # how many workers may run at once; None: all of them
    rate: float | None  # items per second since the batch began; None while it does not run
    remaining: timedelta | None  # the time left at this rate; None while it cannot be estimated
    is_over: bool  # the nodes that depend on the batch may run

    @property
    def fraction(self) -> float:
        """The share of items that are done, or of workers if items are not counted."""
        done, total = self.items_done, self.items_total
        if total is None:
            done, total = self.done, self.total
        return min(1.0, done / total) if total else 1.0


def read_batches(
    connection: Connection, store: Store, workflow: WorkflowRecord, now: datetime
) -> tuple[BatchProgress, ...]:
    """Read the expanded batches and maps, in the order of their expansion.

    It takes two queries, whatever the number of workers.
    """
    records = store.expansions.of(connection, workflow.id)
    is_any_open = any(not record.is_over for record in records.values())
    under_way = store.expansions.under_way(connection, workflow.id) if is_any_open else {}
    return tuple(
        progress_of(workflow, record, under_way.get(record.node_id, WorkersUnderWay()), now)
        for record in sorted(records.values(), key=lambda one: one.created_at)
    )


def progress_of(
    workflow: WorkflowRecord, record: ExpansionRecord, active: WorkersUnderWay, now: datetime
) -> BatchProgress:
    items_done = record.items_done + active.items
    is_moving = workflow.state is WorkflowState.READY and not record.is_complete
    waiting = record.total - record.done - record.failed - active.running
    # The workers of a canceled workflow were canceled with it.
    pending = 0 if workflow.state in ENDED_WORKFLOW_STATES else max(0, waiting)
    rate = _rate(items_done, now - record.created_at) if is_moving else None
    return BatchProgress(
        name=_name_of(workflow, record.node_id),
        node=record.node_id,
        kind=record.kind,
        total=record.total,
        done=record.done,
        running=active.running,
        pending=pending,
        failed=record.failed,
        items_done=items_done,
        items_total=record.items,
        items_failed=record.item_errors,
        parallelism=record.parallelism,
        rate=rate,
        remaining=_remaining(record, items_done, rate),
        is_over=record.is_over,
    )


def _rate(items_done: int, elapsed: timedelta) -> float | None:
    seconds = elapsed.total_seconds()
    return items_done / seconds if items_done and seconds > 0 else None


def _remaining(record: ExpansionRecord, items_done: int, rate: float | None) -> timedelta | None:
    if record.is_over:
        return timedelta(0)
    if record.items is None or rate is None:
        return None
    return timedelta(seconds=max(0, record.items - items_done) / rate)


def _name_of(workflow: WorkflowRecord, node_id: str) -> str:
    """Return the name of the batch whose workers have this node; a map has the node's name."""
    definition = registry.definition_for(workflow.type)
    node = definition.get(node_id) if definition is not None else None
    if definition is None or node is None or not node.is_worker:
        return worker_stem(node_id)  # a dynamic workflow names the node after its batch
    return definition.batch_of(node.name).name
