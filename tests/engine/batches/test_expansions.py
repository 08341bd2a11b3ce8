"""Batches: created once, run by their terms, and aggregated."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step, time_travel
from tests.deploys import former_code
from tests.looking import error_of, pending_dead_letters

pytestmark = pytest.mark.usefixtures("geneva")

Handle = gd.WorkflowHandle[Any]

ran: list[str] = []
failing: set[str] = set()
seen: list[gd.BatchResults] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()
    failing.clear()
    seen.clear()


def _count(batch: gd.Batch) -> int:
    ran.append(batch.id)
    if batch.id in failing:
        raise ValueError(f"worker {batch.id}")
    return int(batch.end - batch.start)


def _sum(results: gd.BatchResults) -> int:
    seen.append(results)
    return sum(results.by_worker.values())


def _batch_class(batches: gd.Batches, **options: Any) -> type[gd.Workflow[Any]]:
    class Import(gd.Workflow):
        type_name = "test_expansions.Import"

        @gd.batch(**options)
        def rows(self) -> gd.Batches:
            return batches

        @rows.worker
        def process(self, batch: gd.Batch) -> int:
            return _count(batch)

        @rows.aggregate
        def summarize(self, results: gd.BatchResults) -> int:
            return _sum(results)

    return Import


def _states(workflow: Handle) -> dict[str, str]:
    return {e.node_id: str(e.state) for e in workflow.step_executions}


def _perform(workflow: Handle, steps: int) -> None:
    for _ in range(steps):
        perform_next_step(workflow)


def test_workers_are_created_together_and_aggregated_at_the_end() -> None:
    made = _batch_class(gd.Batches.split(total=10_000, batch_size=4_000), parallelism=2)
    workflow = made.create()
    _perform(workflow, 1)
    assert _states(workflow) == {
        "rows": "completed",
        "process_001": "scheduled",
        "process_002": "scheduled",
        "process_003": "pending",
    }
    drain()
    assert (workflow.reload().state, workflow.result) == ("finished", 10_000)
    [results] = seen
    assert results.by_worker == {"process_001": 4000, "process_002": 4000, "process_003": 2000}
    assert (results.worker_count, results.success_rate) == (3, 1.0)
    assert (results.total_processed, results.failed, results.error_count) == (10_000, {}, 0)
    assert (results.scenario, results.reason) == ("with_batches", None)
    assert workflow.verify_ancestry() == []


@pytest.mark.parametrize("point", ["body", "commit"])
def test_workers_are_created_once_whatever_is_repeated(point: Any) -> None:
    made = _batch_class(gd.Batches.split(total=30, batch_size=10))
    for done in range(5):
        workflow = made.create()
        _perform(workflow, done)
        with crash_after(point):
            drain()
        drain()
        assert workflow.reload().result == 30
        names = [e.node_id for e in workflow.step_executions if e.outcome == "success"]
        assert sorted(names) == ["process_001", "process_002", "process_003", "rows", "summarize"]


def test_without_anything_to_do_one_idle_worker_is_recorded_and_the_aggregate_runs() -> None:
    workflow = _batch_class(gd.Batches.none("empty file")).create()
    drain()
    assert workflow.reload().state == "finished"
    assert _states(workflow) == dict.fromkeys(["rows", "process_000", "summarize"], "completed")
    assert ran == []
    [results] = seen
    assert (results.scenario, results.reason) == ("no_batches", "empty file")
    assert (results.worker_count, results.success_rate, results.total_processed) == (0, 0.0, 0)
    assert workflow.verify_ancestry() == []


def test_a_batch_that_is_skipped_has_nothing_to_do() -> None:
    workflow = _batch_class(gd.Batches.split(total=3, batch_size=1), skip_if=True).create()
    drain()
    assert workflow.reload().state == "finished"
    assert (ran, seen[0].scenario) == ([], "no_batches")
    assert seen[0].reason == "Batch 'rows' was skipped."
    assert workflow.verify_ancestry() == []


@pytest.mark.parametrize(
    ("strategy", "state", "workers"),
    [
        ("fail_fast", "paused", ["001", "002"]),
        ("isolate", "paused", ["001", "002", "003", "004"]),
        ("continue_on_failure", "finished", ["001", "002", "003", "004"]),
    ],
)
def test_a_failed_worker_is_answered_by_the_strategy(
    strategy: Any, state: str, workers: list[str]
) -> None:
    batches = gd.Batches.split(total=40, batch_size=10)
    workflow = _batch_class(batches, parallelism=1, failure_strategy=strategy).create()
    failing.add("002")
    drain()
    assert workflow.reload().state == state
    assert ran == workers
    if state == "finished":
        assert workflow.result == 30
        assert list(seen[0].failed) == ["process_002"]
        assert seen[0].success_rate == 0.75
        assert [one.error_message for one in seen[0].errors] == ["worker 002"]
        return
    assert seen == []
    failing.clear()
    workflow.resume()
    drain()
    assert (workflow.reload().state, workflow.result) == ("finished", 40)
    assert ran.count("002") == 2


def test_a_policy_that_ran_out_makes_a_dead_letter_only_if_the_batch_stops(
    geneva: gd.Drive,
) -> None:
    def import_with(**options: Any) -> type[gd.Workflow[Any]]:
        class Retried(gd.Workflow):
            type_name = "test_expansions.Retried"

            @gd.batch(**options)
            def rows(self) -> gd.Batches:
                return gd.Batches.split(total=2, batch_size=1)

            @rows.worker(retry=gd.Retry(max=2, backoff=0))
            def process(self, batch: gd.Batch) -> int:
                return _count(batch)

            @rows.aggregate
            def summarize(self, results: gd.BatchResults) -> int:
                return _sum(results)

        return Retried

    failing.add("001")
    tolerant = import_with(tolerate=gd.Tolerate(percent=50))
    done = tolerant.create()
    drain()
    assert (done.reload().state, ran.count("001")) == ("finished", 3)
    assert pending_dead_letters(geneva) == []
    strict = import_with()
    stopped = strict.create()
    drain()
    assert stopped.reload().state == "paused"
    assert pending_dead_letters(geneva) == ["max_retries_exceeded"]


def test_skipped_items_count_against_what_is_tolerated() -> None:
    class Items(gd.Workflow):
        type_name = "test_expansions.Items"

        @gd.batch(tolerate=gd.Tolerate(items=3), parallelism=1, failure_strategy="isolate")
        def rows(self) -> gd.Batches:
            return gd.Batches.split(total=20, batch_size=10)

        @rows.worker
        def process(self, batch: gd.Batch) -> int:
            for item in batch.items(on_error="skip"):
                if item % 5 == 0:
                    raise ValueError(f"item {item}")
            return batch.items_processed

        @rows.aggregate
        def summarize(self, results: gd.BatchResults) -> list[tuple[str, Any]]:
            return [(error.worker, error.error_message) for error in results.errors]

    workflow = Items.create()
    drain()
    assert workflow.reload().state == "paused"
    assert workflow.paused_reason == "4 items of 'process' failed, and 3 are tolerated."
    found = [(one.worker, one.error_message) for one in workflow.failed_items("rows")]
    assert found == [
        ("process_001", "item 0"),
        ("process_001", "item 5"),
        ("process_002", "item 10"),
        ("process_002", "item 15"),
    ]
    assert "`geneva resume" in workflow.why()
    assert "--failed-items" in workflow.why()
    workflow.resume()  # nothing is left to run again: the operator accepts it
    drain()
    assert workflow.reload().state == "finished"
    assert [tuple(one) for one in workflow.result] == found


class Nightly(gd.Workflow):
    type_name = "test_expansions.Nightly"

    @gd.decision
    def wanted(self) -> str:
        return "left"

    @gd.batch(depends_on=wanted)
    def left(self) -> gd.Batches:
        return gd.Batches.workers(total=10, n=3)

    @left.worker
    def do_left(self, batch: gd.Batch) -> int:
        return _count(batch)

    @left.aggregate
    def end_left(self, results: gd.BatchResults) -> int:
        return _sum(results)

    @gd.batch(depends_on=wanted)
    def right(self) -> gd.Batches:
        raise AssertionError("not chosen")

    @right.worker
    def do_right(self, batch: gd.Batch) -> int:
        return _count(batch)

    @right.aggregate
    def end_right(self, results: gd.BatchResults) -> int:
        return _sum(results)

    @gd.batch(depends_on=[])
    def beside(self) -> gd.Batches:
        return gd.Batches.ranges([("a", "f"), ("f", "z", {"of": "half"})])

    @beside.worker
    def do_beside(self, batch: gd.Batch) -> str:
        return f"{batch.start}{batch.end}{(batch.metadata or {}).get('of', '')}"

    @beside.aggregate
    def end_beside(self, results: gd.BatchResults) -> list[str]:
        return sorted(results.by_worker.values())

    @gd.task(depends_on=[end_left, end_beside], keep_result=True)
    def join(self) -> list[Any]:
        return [self.result_of(self.end_left), self.result_of(self.end_beside)]


def test_batches_of_a_graph_run_beside_each_other_and_below_a_decision() -> None:
    workflow = Nightly.create()
    drain()
    assert workflow.reload().state == "finished", workflow.why()
    assert workflow.result_of("join") == [10, ["af", "fzhalf"]]
    assert _states(workflow)["right"] == "skipped"
    assert _states(workflow)["end_right"] == "skipped"
    assert workflow.verify_ancestry() == []


def test_a_batch_over_nothing_has_nothing_to_do(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("n\n")
    workflow = _batch_class(gd.Batches.csv(path, batch_size=5)).create()
    drain()
    assert workflow.reload().state == "finished"
    assert (seen[0].scenario, seen[0].reason) == ("no_batches", "There is nothing to do.")


def test_a_body_that_returns_no_batches_fails_and_creates_nothing() -> None:
    workflow = _batch_class([(0, 10)]).create()  # type: ignore[arg-type]  # the error is the test
    drain()
    assert workflow.reload().state == "paused"
    [execution] = workflow.step_executions
    assert error_of(execution)[0] == "geneva_drive.errors.InvalidInput"
    assert "Return a gd.Batches" in (execution.error_message or "")


def test_ranges_that_overlap_fail_the_batch_and_create_nothing() -> None:
    class Overlap(gd.Workflow):
        type_name = "test_expansions.Overlap"

        @gd.batch
        def rows(self) -> gd.Batches:
            return gd.Batches.ranges([(0, 10), (5, 15)])

        @rows.worker
        def process(self, batch: gd.Batch) -> None: ...

        @rows.aggregate
        def summarize(self, results: gd.BatchResults) -> None: ...

    workflow = Overlap.create()
    drain()
    assert list(_states(workflow)) == ["rows"]
    assert "0 to 10 and 5 to 15 overlap" in (workflow.reload().paused_reason or "")


def test_one_worker_can_be_reset_resolved_completed_or_skipped() -> None:
    batches = gd.Batches.split(total=50, batch_size=10)
    workflow = _batch_class(batches, failure_strategy="isolate").create()
    failing.update({"001", "002", "003", "004"})
    drain()
    assert workflow.reload().paused_reason == "4 of the 5 workers of 'process' failed."
    workflow.skip("process_001")
    workflow.resolve_manually("process_002", actor="ann")
    workflow.complete_manually("process_003", result=7, actor="ann")
    failing.clear()
    workflow.reset_for_retry("process_004", actor="ann")
    drain()
    assert workflow.reload().state == "finished", workflow.why()
    # Those that were passed over have no result.
    assert seen[0].by_worker == {"process_003": 7, "process_004": 10, "process_005": 10}
    assert (seen[0].failed, seen[0].total_processed) == ({}, 40)


@pytest.mark.parametrize(("reset_checkpoint", "begins"), [(False, 7000), (True, 6000)])
def test_a_reset_goes_on_at_the_checkpoint_or_starts_over(
    reset_checkpoint: bool, begins: int
) -> None:
    called: list[int] = []

    class Import(gd.Workflow):
        type_name = "test_expansions.Reset"

        @gd.batch(checkpoint_interval=200)
        def rows(self) -> gd.Batches:
            return gd.Batches.split(total=10_000, batch_size=2_000)

        @rows.worker
        def process(self, batch: gd.Batch) -> int | gd.CheckpointYield:
            if batch.id == "004":
                called.append(batch.position)
            if batch.position == 7000 and batch.id in failing:
                raise ValueError("broken")
            end = batch.position + batch.checkpoint_interval
            total = int(batch.accumulated_results or 0) + batch.checkpoint_interval
            if end < batch.end:
                return batch.checkpoint_yield(end, end - batch.start, total)
            return total

        @rows.aggregate
        def summarize(self, results: gd.BatchResults) -> int:
            return _sum(results)

    failing.add("004")
    workflow = Import.create()
    drain()
    [failed] = [e for e in workflow.step_executions if e.state == "failed"]
    saved = failed.checkpoint or {}
    assert (failed.node_id, saved["cursor"]) == ("process_004", 7000)
    assert saved["accumulated_results"] == 1000
    failing.clear()
    called.clear()
    workflow.reset_for_retry("process_004", reset_checkpoint=reset_checkpoint, actor="ann")
    drain()
    assert called == list(range(begins, 8000, 200))
    assert workflow.reload().result == 10_000


def test_a_batch_whose_worker_is_renamed_meanwhile_goes_on() -> None:
    with former_code():
        former = _batch_class(gd.Batches.split(total=30, batch_size=10), parallelism=1)
        workflow_id = former.create().id
        failing.add("002")
        drain()

    class Import(gd.Workflow):
        type_name = "test_expansions.Import"

        @gd.batch
        def rows(self) -> gd.Batches:
            raise AssertionError("it ran before")

        @rows.worker(renamed_from="process")
        def handle_rows(self, batch: gd.Batch) -> int:
            return _count(batch)

        @rows.aggregate
        def summarize(self, results: gd.BatchResults) -> int:
            return _sum(results)

    failing.clear()
    workflow = Import.find(workflow_id)
    workflow.set_parallelism("rows", 2)
    workflow.reset_for_retry("process_002", actor="ann")
    drain()
    assert (workflow.reload().state, workflow.result) == ("finished", 30)


def test_without_a_word_about_workers_none_may_fail() -> None:
    batches = gd.Batches.split(total=20, batch_size=10)
    workflow = _batch_class(batches, tolerate=gd.Tolerate(items=3)).create()
    failing.add("001")
    drain()
    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "process_001")


def test_workers_that_are_reset_one_by_one_keep_to_the_parallelism() -> None:
    batches = gd.Batches.split(total=40, batch_size=10)
    options: Any = {"parallelism": 1, "failure_strategy": "isolate"}
    workflow = _batch_class(batches, **options).create()
    failing.update({"001", "002", "003", "004"})
    drain()
    for number in (1, 2, 3):
        workflow.reset_for_retry(f"process_00{number}", actor="ann")
    latest = _states(workflow)
    assert [latest[f"process_00{n}"] for n in (1, 2, 3)] == ["scheduled", "pending", "pending"]
    with pytest.raises(gd.errors.InvalidStateError, match="It waits for its turn"):
        workflow.skip("process_002")
    failing.clear()
    drain()
    workflow.reload().resume()
    drain()
    assert (workflow.reload().state, workflow.result) == ("finished", 40)


@pytest.mark.parametrize("part", ["worker", "aggregate"])
def test_workers_and_aggregates_honour_errors_that_say_whether_to_retry(part: str) -> None:
    raised: list[Exception] = []

    def act(own: str) -> int:
        if own == part and raised:
            raise raised.pop()
        return 1

    class Import(gd.Workflow):
        type_name = "test_expansions.Errors"
        on_exception = gd.ExceptionPolicy("reattempt", max_reattempts=3)

        @gd.batch
        def rows(self) -> gd.Batches:
            return gd.Batches.split(total=1, batch_size=1)

        @rows.worker
        def process(self, batch: gd.Batch) -> int:
            return act("worker")

        @rows.aggregate
        def summarize(self, results: gd.BatchResults) -> int:
            return act("aggregate")

    raised[:] = [gd.PermanentError("never"), gd.RetryableError("busy", retry_after=3600)]
    workflow = Import.create()
    drain()
    waiting = workflow.step_executions[-1]
    before = workflow.step_executions[-2]
    assert waiting.attempt_number == 2
    assert before.finished_at is not None
    assert waiting.scheduled_for - before.finished_at == timedelta(hours=1)
    with time_travel(timedelta(hours=1)):
        drain()
    assert workflow.reload().state == "paused"
    assert "never" in (workflow.paused_reason or "")
    with time_travel(timedelta(hours=1)):
        workflow.resume()
        drain()
    assert workflow.reload().state == "finished"
