"""The words of `why()` and of the command line for batches and maps."""

from __future__ import annotations

from collections.abc import Sequence

from geneva_drive.display import short_name
from geneva_drive.drive.batch_progress import BatchProgress
from geneva_drive.engine.transitions.batch_workers import worker_id
from geneva_drive.states import ExpansionKind
from geneva_drive.storage.schema.records import ExecutionRecord, Key

MOST_FAILED = 3


def noun_of(batch: BatchProgress) -> str:
    """Return the word for workers: in a map, people think of items."""
    return "items" if batch.kind is ExpansionKind.MAP else "workers"


def standing(batch: BatchProgress) -> str:
    """Describe a batch, as in "3 of 5 workers of 'process' are done, 2 running"."""
    verb = "is" if batch.done == 1 else "are"
    head = f"{batch.done:,} of {batch.total:,} {noun_of(batch)} of {batch.node!r} {verb} done"
    return f"{', '.join([head, *others(batch)])}{_items_in_brackets(batch)}"


def others(batch: BatchProgress) -> list[str]:
    """Return the counts of the workers that are not done."""
    counts = (("running", batch.running), ("pending", batch.pending), ("failed", batch.failed))
    return [f"{count:,} {word}" for word, count in counts if count]


def items_of(batch: BatchProgress) -> str:
    """Return how many items are done; empty for a map, whose items are counted as workers."""
    if batch.kind is ExpansionKind.MAP:
        return ""
    if batch.items_total is not None:
        return f"{batch.items_done:,} of {batch.items_total:,} items"
    return f"{batch.items_done:,} items" if batch.items_done else ""


def _items_in_brackets(batch: BatchProgress) -> str:
    items = items_of(batch)
    return f" ({items})" if items else ""


def is_held_at(batch: BatchProgress, step_name: str | None) -> bool:
    """True if a workflow that is paused at this step is paused at the batch or a worker of it."""
    if step_name == batch.node:
        return True
    if batch.is_over or step_name is None:
        return False
    number = step_name.rpartition("_")[2]
    return number.isdecimal() and step_name == worker_id(batch.node, int(number))


def failures(batch: BatchProgress, failed: Sequence[ExecutionRecord], reason: str = "") -> str:
    """Return a sentence about the workers that failed; an error in `reason` is not repeated."""
    if not failed:
        return ""
    nouns = noun_of(batch).capitalize()
    errors = [(repr(one.node_id), _error_of(one, reason)) for one in failed[:MOST_FAILED]]
    more = batch.failed - len(errors)
    if len(errors) == 1 and more <= 0:
        [(name, error)] = errors
        return f" {nouns[:-1]} {name} failed{f': {error}' if error else ''}."
    named = [f"{name} ({error})" if error else name for name, error in errors]
    if more > 0:
        named.append(f"{more:,} more")
    return f" {nouns} {', '.join(named[:-1])} and {named[-1]} failed."


def _error_of(worker: ExecutionRecord, reason: str) -> str:
    """Return the error of a worker; empty if the reason of the pause already contains it."""
    message = (worker.error_message or "").partition("\n")[0].removesuffix(".")
    error = ": ".join(filter(None, (short_name(worker.error_class or ""), message)))
    return "" if error in reason else error


def way_out(workflow_id: Key, batch: BatchProgress, failed: Sequence[ExecutionRecord]) -> str:
    """Return what an operator can do about a batch that is paused."""
    resume = f"`geneva resume {workflow_id}`"
    if not failed:
        listed = f"`geneva show {workflow_id} --failed-items` lists the failed items, "
        return f" {listed if batch.items_failed else ''}{resume} continues."
    reset = f"`geneva reset {workflow_id} {failed[0].node_id}`"
    again = "it" if batch.failed == 1 else repr(failed[0].node_id)
    where = "" if batch.kind is ExpansionKind.MAP else " from its checkpoint"
    return f" {reset} runs {again} again{where}, {resume} all that failed."
