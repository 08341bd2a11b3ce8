"""A batch that adds up numbers, and the processes that the scenarios kill in its workers.

`python -m tests.scenarios.batches` works until SIGTERM.
"""

from __future__ import annotations

import logging
import threading
import time

import geneva_drive as gd
from tests.scenarios.programs import say, work

WORKERS = 20
PARALLELISM = 6
INTERVAL = 25
ITEMS = 500  # of each worker
CALL_SECONDS = 0.004  # lets the batch last for as many kills as are wanted

# A worker that logs each step is several times slower.
logging.basicConfig(level=logging.WARNING)


class AddUp(gd.Workflow):
    @gd.batch(checkpoint_interval=INTERVAL, parallelism=PARALLELISM)
    def numbers(self) -> gd.Batches:
        return gd.Batches.workers(total=WORKERS * ITEMS, n=WORKERS)

    @numbers.worker
    def add(self, batch: gd.Batch) -> int | gd.CheckpointYield:
        time.sleep(CALL_SECONDS)
        end = min(batch.position + batch.checkpoint_interval, batch.end)
        total = int(batch.accumulated_results or 0) + sum(range(batch.position, end))
        if end < batch.end:
            return batch.checkpoint_yield(end, end - batch.start, total)
        return total

    @numbers.aggregate
    def total(self, results: gd.BatchResults) -> int:
        return sum(results.by_worker.values())


class StopsAt600(gd.Workflow):
    """Says where each call of its worker begins; the first attempt never comes further than 600."""

    @gd.batch(checkpoint_interval=200)
    def numbers(self) -> gd.Batches:
        return gd.Batches.workers(total=1000, n=1)

    @numbers.worker
    def add(self, batch: gd.Batch) -> int | gd.CheckpointYield:
        say(f"{batch.position} {batch.accumulated_results}")
        if batch.position == 600 and self.attempt == 1:
            threading.Event().wait()
        end = batch.position + batch.checkpoint_interval
        count = int(batch.accumulated_results or 0) + batch.checkpoint_interval
        if end < batch.end:
            return batch.checkpoint_yield(end, end - batch.start, count)
        return count

    @numbers.aggregate
    def total(self, results: gd.BatchResults) -> int:
        return sum(results.by_worker.values())


if __name__ == "__main__":
    work(concurrency=4)
