"""Whatever happens to the workers of a batch, the counts of its expansion are right."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import geneva_drive as gd
from geneva_drive.engine.graphs.expansions import recounted
from geneva_drive.testing import crash_after, expire_leases, perform_next_step

WORKERS = 6

failing: set[str] = set()
aggregated: list[int] = []
terms: dict[str, Any] = {}


def _class() -> type[gd.Workflow[Any]]:
    class Import(gd.Workflow):
        type_name = "test_counts.Import"

        @gd.batch(**terms)
        def rows(self) -> gd.Batches:
            return gd.Batches.split(total=WORKERS * 10, batch_size=10)

        @rows.worker
        def process(self, batch: gd.Batch) -> int:
            if batch.id in failing:
                raise ValueError(batch.id)
            return 10

        @rows.aggregate
        def summarize(self, results: gd.BatchResults) -> int:
            aggregated.append(sum(results.by_worker.values()))
            return aggregated[-1]

    return Import


def _act(workflow: gd.WorkflowHandle[Any], chance: Random) -> None:
    """Do something at random; what is not possible now is refused, and changes nothing."""
    worker = f"process_{chance.randint(1, WORKERS):03d}"
    acts: list[Callable[[], object]] = [
        *3 * [lambda: perform_next_step(workflow)],
        lambda: failing.add(worker[-3:]),
        failing.clear,
        workflow.pause,
        workflow.resume,
        lambda: workflow.skip(worker),
        lambda: workflow.reset_for_retry(worker, actor="ann"),
        lambda: workflow.resolve_manually(worker, actor="ann"),
        lambda: workflow.complete_manually(worker, result=10, actor="ann"),
        lambda: workflow.reattempt(worker),
        lambda: workflow.set_parallelism("rows", chance.choice([1, 3, None])),
        lambda: _crash(workflow, chance),
    ]
    with contextlib.suppress(gd.errors.InvalidStateError, gd.errors.NotFound):
        chance.choice(acts)()


def _crash(workflow: gd.WorkflowHandle[Any], chance: Random) -> None:
    point: Any = chance.choice(["claim", "body", "commit"])
    # Nothing may be due, so that the point is not reached.
    with contextlib.suppress(AssertionError), crash_after(point, timeout=0):
        perform_next_step(workflow)
    expire_leases()
    gd.current_drive().housekeep()


def _check(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> None:
    store, key = drive.store, workflow.id
    with store.reading() as connection:
        records = store.expansions.of(connection, key)
        workers = store.expansions.workers(connection, key)
    for record in records.values():
        assert recounted(record, workers) == record
        assert record.is_over or not aggregated


@pytest.mark.parametrize("strategy", list(gd.FailureStrategy))
@settings(max_examples=4, suppress_health_check=list(HealthCheck), deadline=None)
@given(chance=st.randoms(use_true_random=False), parallelism=st.sampled_from([None, 1, 2]))
def test_counts_agree_with_the_rows_and_the_aggregate_runs_once(
    geneva: gd.Drive, strategy: gd.FailureStrategy, chance: Random, parallelism: int | None
) -> None:
    failing.clear()
    aggregated.clear()
    terms.update(failure_strategy=strategy, parallelism=parallelism)
    made = _class()
    workflow = made.create()
    for _ in range(chance.randint(1, 30)):
        _act(workflow, chance)
        _check(geneva, workflow)
    failing.clear()
    for _ in range(60):
        if not workflow.reload().is_ongoing:
            break
        if workflow.state == "paused":
            workflow.resume()
        perform_next_step(workflow)
        _check(geneva, workflow)
    assert workflow.state == "finished", workflow.why()
    ended = [e.outcome for e in workflow.step_executions if e.step_name == "summarize"]
    assert ended.count(gd.Outcome.SUCCESS) == 1, "a crash may call its body again, but it ends once"
