"""Words for batches and maps."""

from __future__ import annotations

from geneva_drive.cli.output.loops import pace
from geneva_drive.drive.batch_progress import BatchProgress
from geneva_drive.drive.explanation.batch_words import items_of, noun_of, others


def counts(batch: BatchProgress) -> str:
    """Count the workers, as in "3 of 5 workers done, 2 running"."""
    head = f"{batch.done:,} of {batch.total:,} {noun_of(batch)} done"
    return ", ".join([head, *others(batch)])


def words(batch: BatchProgress) -> str:
    """Describe a batch: its workers, its items, its rate and the time left."""
    if not batch.total:
        return "nothing to do"
    parts = [counts(batch)]
    items = ", ".join(filter(None, (items_of(batch), *pace(batch.rate, batch.remaining))))
    if items:
        parts.append(items)
    if batch.items_failed:
        noun = "item" if batch.items_failed == 1 else "items"
        parts.append(f"{batch.items_failed:,} {noun} failed")
    return "; ".join(parts)
