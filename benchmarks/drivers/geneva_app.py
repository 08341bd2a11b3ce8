"""The workflow classes of the benchmark: what `geneva worker --app` imports."""

from __future__ import annotations

import logging
from typing import Any

import geneva_drive as gd
from benchmarks.drivers.marks import mark_begun

# Every system logs warnings only, or this one would write two lines per step.
logging.basicConfig(level=logging.WARNING)

ROLE = "manager"
PAYMENT = "payment.received"
CHECKPOINT_INTERVAL = 1_000  # of the batches


def do_nothing(workflow: gd.Workflow) -> None: ...


@gd.job(name="bench.node")
def run_node() -> None:
    """What every node of a fan calls."""


class TenSteps(gd.Workflow):
    """The workflow of the throughput workloads."""

    steps = tuple(gd.step(do_nothing) for _ in range(10))


class HundredSteps(gd.Workflow):
    """One long chain, which tells when it begins."""

    @gd.step
    def begin(self) -> None:
        mark_begun()

    steps = tuple(gd.step(do_nothing) for _ in range(99))


class OneStep(gd.Workflow):
    """Tells when its only body runs."""

    @gd.step
    def begin(self) -> None:
        mark_begun()


class Sleeping(gd.Workflow):
    """Stands in the tables until much later; a backlog is made of it."""

    @gd.step
    def wake_up(self) -> None: ...


class Approved(gd.Workflow):
    """Waits for a decision, then tells when its next body runs."""

    @gd.approval(role=ROLE, ask="May it begin?")
    def decide(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    @gd.step
    def begin(self) -> None:
        mark_begun()


class Paid(gd.Workflow):
    """Waits for an event with its key, then tells when its next body runs."""

    @gd.wait_for_event(PAYMENT, key=lambda self: self.context["key"])
    def payment(self, event: gd.Event) -> None: ...

    @gd.step
    def begin(self) -> None:
        mark_begun()


def add_up(workflow: gd.Workflow, results: gd.BatchResults) -> int:
    """Return the sum of all numbers of a batch, if it is the right one."""
    items: int = workflow.context["items"]
    total: int = sum(results.by_worker.values())
    if total != items * (items - 1) // 2:
        raise ValueError(f"The numbers below {items} do not add up to {total}.")
    return total


class Summed(gd.Workflow):
    """Adds up numbers with a loop that saves checkpoints."""

    @gd.batch(checkpoint_interval=CHECKPOINT_INTERVAL)
    def numbers(self) -> gd.Batches:
        return gd.Batches.workers(total=self.context["items"], n=self.context["workers"])

    @numbers.worker
    def add(self, batch: gd.Batch) -> int:
        total = 0
        for number in batch.items():
            total += number
        return total

    @numbers.aggregate
    def summarize(self, results: gd.BatchResults) -> int:
        return add_up(self, results)


class SummedByYields(gd.Workflow):
    """Adds up numbers with a body that returns at each checkpoint."""

    @gd.batch(checkpoint_interval=CHECKPOINT_INTERVAL)
    def numbers(self) -> gd.Batches:
        return gd.Batches.workers(total=self.context["items"], n=self.context["workers"])

    @numbers.worker
    def add(self, batch: gd.Batch) -> int | gd.CheckpointYield:
        total = batch.accumulated_results or 0
        end = min(batch.position + batch.checkpoint_interval, batch.end)
        for number in range(batch.position, end):
            total += number
        return total if end == batch.end else batch.checkpoint_yield(end, end - batch.start, total)

    @numbers.aggregate
    def summarize(self, results: gd.BatchResults) -> int:
        return add_up(self, results)


class Yielding(gd.Workflow):
    """One worker that yields after each number."""

    @gd.batch(checkpoint_interval=1)
    def numbers(self) -> gd.Batches:
        return gd.Batches.workers(total=self.context["yields"] + 1, n=1)

    @numbers.worker
    def go_on(self, batch: gd.Batch) -> gd.CheckpointYield | None:
        following = batch.position + 1
        return None if following == batch.end else batch.checkpoint_yield(following, following)

    @numbers.aggregate
    def summarize(self, results: gd.BatchResults) -> None: ...
