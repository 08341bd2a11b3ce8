"""Batches in tests: workflows whose workers get a body, and where the workers stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import drain, expire_leases


def dividing(
    batches: gd.Batches | Callable[[], gd.Batches],
    body: Callable[[Any, Any], Any],
    *,
    interval: int = 200,
    parallelism: int | None = None,
    drive: gd.Drive | None = None,
    **options: Any,
) -> gd.WorkflowHandle[Any]:
    """Create a workflow that divides its work like this, and whose workers have this body.

    It ends with the results of its workers.
    """

    class Division(gd.Workflow):
        @gd.batch(checkpoint_interval=interval, parallelism=parallelism)
        def rows(self) -> gd.Batches:
            return batches() if callable(batches) else batches

        @rows.worker(**options)
        def process(self, batch: gd.Batch) -> Any:
            return body(self, batch)

        @rows.aggregate
        def summarize(self, results: Any) -> Any:
            return results.by_worker

    return (Division if drive is None else Division.using(drive)).create()


def one_range(total: int) -> gd.Batches:
    return gd.Batches.split(total=total, batch_size=total)


def adding_up(seen: list[Any]) -> Callable[[Any, gd.Batch], Any]:
    """Return a body that adds up the numbers of its range, and yields after each interval."""

    def body(self: Any, batch: gd.Batch) -> Any:
        seen.append((batch.position, batch.accumulated_results))
        end = min(batch.position + batch.checkpoint_interval, batch.end)
        total = (batch.accumulated_results or 0) + sum(range(batch.position, end))
        if end == batch.end:
            return total
        return batch.checkpoint_yield(end, end - batch.start, total)

    return body


def workers(workflow: gd.WorkflowHandle[Any]) -> list[gd.StepExecution]:
    """Every attempt at every worker."""
    return [one for one in workflow.reload().step_executions if one.step_name == "process"]


def recover(drive: gd.Drive) -> None:
    """Run what a dead worker has left."""
    expire_leases(drive)
    drain(drive)
