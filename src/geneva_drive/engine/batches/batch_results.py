"""The results of the workers of a batch, for its aggregate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.definition.definition import Node
from geneva_drive.definition.dynamic.stored_batch import worker_stem
from geneva_drive.engine.commit.rows import SKIPPED_ITEM
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.batch_workers import BatchWorker
from geneva_drive.serialization import typed_json
from geneva_drive.states import StepState, is_done
from geneva_drive.storage.schema.records import CheckpointRecord, ExecutionRecord, Key
from geneva_drive.storage.statements.expansions import WorkerResult
from geneva_drive.storage.store import Store

_MAX_ERRORS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchError:
    """A worker that failed for good, or an item that a worker skipped."""

    worker: str
    error_class: str | None
    error_message: str | None
    cursor: Any = None  # of the item


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResults:
    """The results of a batch, as its aggregate receives them.

    >>> import geneva_drive as gd
    >>> class Count(gd.Workflow):
    ...     @gd.batch
    ...     def rows(self): return gd.Batches.split(total=1_000, batch_size=250)
    ...     @rows.worker
    ...     def process(self, batch): return batch.end - batch.start
    ...     @rows.aggregate
    ...     def summarize(self, results: gd.BatchResults) -> int:
    ...         return sum(results.by_worker.values())
    """

    by_worker: dict[str, Any] = field(default_factory=dict)  # name of the worker to its result
    failed: dict[str, str] = field(default_factory=dict)  # name of the worker to its error
    total_processed: int = 0
    worker_count: int = 0
    errors: list[BatchError] = field(default_factory=list)  # the first 100
    error_count: int = 0
    scenario: Literal["with_batches", "no_batches"] = "with_batches"
    reason: str | None = None  # why there was nothing to do

    @property
    def success_rate(self) -> float:
        """The share of the workers that succeeded; 0.0 without workers."""
        if not self.worker_count:
            return 0.0
        return (self.worker_count - len(self.failed)) / self.worker_count


def results_for(
    environment: Environment, execution: ExecutionRecord, aggregate: Node
) -> BatchResults:
    """Return the results of the workers that an aggregate depends on."""
    names: tuple[str, ...] = (aggregate.depends_on[0],)
    batch = worker_stem(names[0])
    if aggregate.job is None:
        definition = registry.require_definition(execution.type)
        batch = definition.batch_of(aggregate.name).name
        names = definition.require(names[0]).names
    store = environment.store
    return store.read(
        lambda connection: _results(connection, store, execution.workflow_id, names, batch)
    )


def _results(
    connection: Connection, store: Store, workflow_id: Key, names: Sequence[str], batch: str
) -> BatchResults:
    records = store.expansions.of(connection, workflow_id)
    record = next((records[name] for name in names if name in records), None)
    if record is None:
        return BatchResults(scenario="no_batches", reason=f"Batch {batch!r} was skipped.")
    if record.total == 0:
        return BatchResults(scenario="no_batches", reason=record.reason)
    rows = store.expansions.results(connection, workflow_id, record.node_id)
    done = [row for row in rows if is_done(row.state, row.outcome)]
    failed = [row for row in rows if not is_done(row.state, row.outcome)]
    error_count = len(failed) + sum(row.item_errors for row in rows)
    errors = [_of_worker(row) for row in failed[:_MAX_ERRORS]]
    if len(errors) < min(error_count, _MAX_ERRORS):
        found = store.checkpoints.of_steps(connection, workflow_id, names, SKIPPED_ITEM)
        errors += [_of_item(worker, item) for worker, item in found[: _MAX_ERRORS - len(errors)]]
    return BatchResults(
        # A worker that an operator skipped has no result.
        by_worker={row.node_id: typed_json.load(row.result) for row in done if row.result},
        failed={row.node_id: f"{row.error_class}: {row.error_message}" for row in failed},
        total_processed=sum(_processed(row) for row in done if row.state is StepState.COMPLETED),
        worker_count=record.total,
        errors=errors,
        error_count=error_count,
    )


def _of_worker(row: WorkerResult) -> BatchError:
    return BatchError(
        worker=row.node_id, error_class=row.error_class, error_message=row.error_message
    )


def _of_item(worker: str, item: CheckpointRecord) -> BatchError:
    return BatchError(
        worker=worker,
        error_class=item.error_class,
        error_message=item.error_message,
        cursor=typed_json.load(item.cursor),
    )


def _processed(row: WorkerResult) -> int:
    worker = BatchWorker.load(row.share)
    size = worker.size if worker else None
    return row.completed_iterations if size is None else size
