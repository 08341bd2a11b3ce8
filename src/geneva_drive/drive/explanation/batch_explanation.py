"""The sentences of `why()` about a batch or map: what it waits for, or what failed."""

from __future__ import annotations

from collections.abc import Sequence

from geneva_drive.display import moment_words
from geneva_drive.drive.batch_progress import BatchProgress
from geneva_drive.drive.explanation import batch_words
from geneva_drive.drive.explanation.execution_words import (
    is_served,
    limited,
    trouble_of_workers,
    unserved,
    what_then,
    which_attempt,
)
from geneva_drive.drive.explanation.why_facts import Circumstances
from geneva_drive.durations import describe
from geneva_drive.engine.transitions.batch_workers import BatchWorker
from geneva_drive.states import StepState
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord


def held_batch(
    workflow: WorkflowRecord, batch: BatchProgress, known: Circumstances, reason: str
) -> str:
    failed = known.failed_workers.get(batch.node, ())
    return (
        f"{batch_words.standing(batch)}.{batch_words.failures(batch, failed, reason)}"
        f"{batch_words.way_out(workflow.id, batch, failed)}"
    )


def batch_under_way(
    workflow: WorkflowRecord,
    batch: BatchProgress,
    workers: Sequence[ExecutionRecord],
    known: Circumstances,
) -> str:
    """Return a sentence with the counts, and what keeps the batch from going on."""
    own = [one for one in workers if BatchWorker.of(one).expansion == batch.node]
    counts = batch_words.standing(batch)
    failed = batch_words.failures(batch, known.failed_workers.get(batch.node, ()))
    then = what_then(workflow)
    if batch.running or not own:
        return f"{counts}{then}.{failed}{_lost_worker(own, known)}"
    parked = [one for one in own if one.is_parked]
    if known.limit_use is not None and parked:
        return f"{counts}{then}.{failed} {limited(parked[0], known.limit_use)}"
    first = min(own, key=lambda one: one.scheduled_for)
    if first.scheduled_for > known.now:
        return f"{counts}{then}.{failed} {_next_worker(first, known)}"
    if not is_served(first, known.workers):
        return f"{counts}{then}, but {unserved(first, known.workers)}.{failed}"
    return (
        f"{counts}{then}; they wait for a free worker on queue {first.queue!r}.{failed}"
        f"{trouble_of_workers(first, known.workers)}"
    )


def _next_worker(execution: ExecutionRecord, known: Circumstances) -> str:
    before = known.attempt_before
    is_own = before is not None and before.node_id == execution.node_id
    attempt = which_attempt(execution, before if is_own else None)
    span = describe(execution.scheduled_for - known.now)
    again, colon = (" again", f": {attempt}") if attempt else ("", "")
    return (
        f"Worker {execution.node_id!r} runs{again} at {moment_words(execution.scheduled_for)}, in "
        f"{span}{colon}."
    )


def _lost_worker(workers: Sequence[ExecutionRecord], known: Circumstances) -> str:
    """Return a sentence about the process that runs a worker, if its heartbeat has stopped."""
    processes = {one.id: one for one in known.workers}
    for one in workers:
        process = processes.get(one.worker_id or "")
        if one.state is StepState.IN_PROGRESS and process and not process.heard_within_lease:
            return (
                f" {one.node_id!r} was running on worker {process.name}, which has sent no "
                f"heartbeat since {moment_words(process.heartbeat_at)}; another worker will take "
                f"it over."
            )
    return ""
