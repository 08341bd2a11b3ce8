"""Batches whose ranges and jobs are part of a dynamic workflow's graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.testing import drain, perform_next_step
from tests.looking import error_of

pytestmark = pytest.mark.usefixtures("geneva")

called: list[Any] = []
failing: set[str] = set()
summaries: list[gd.BatchResults] = []


@pytest.fixture(autouse=True)
def _nothing_called() -> None:
    called.clear()
    failing.clear()
    summaries.clear()


@gd.job
def add_up(batch: gd.Batch, factor: int = 1, *, node: Any) -> int:
    called.append(node.name)
    if node.id in failing:
        raise ValueError(f"no {node.id}")
    return factor * sum(range(batch.start, batch.end))


@gd.job
def add_up_slowly(batch: gd.Batch) -> Any:
    called.append(batch.position)
    end = min(batch.position + batch.checkpoint_interval, batch.end)
    total = (batch.accumulated_results or 0) + sum(range(batch.position, end))
    if end < batch.end:
        return batch.checkpoint_yield(end, end - batch.start, total)
    if "slow" in failing:
        raise ValueError("too slow")
    return total


@gd.job
def sum_up(results: gd.BatchResults, *, node: Any) -> int:
    called.append(node.name)
    summaries.append(results)
    return sum(results.by_worker.values())


@gd.job(keep_result=True)
def report(*, workflow: Any, node: Any) -> Any:
    called.append(node.name)
    return workflow.results_of()


@gd.template
def adding(w: gd.DynamicWorkflow, totals: Sequence[int]) -> None:
    for total in totals:
        batches = gd.Batches.workers(total, 2)
        w.batch(f"to_{total}", batches, worker=add_up, aggregate=sum_up, depends_on=None)
    w.node("report", job=report, depends_on=[f"to_{total}" for total in totals])


def _batch(batches: gd.Batches, worker: Any = add_up, **options: Any) -> gd.WorkflowHandle[Any]:
    w = gd.DynamicWorkflow()
    w.batch("rows", batches, worker=worker, aggregate=sum_up, **options)
    w.node("report", job=report)
    return w.start()


def _three() -> gd.Batches:
    return gd.Batches.split(total=30, batch_size=10)


def _states(workflow: gd.WorkflowHandle[Any]) -> dict[str, str]:
    return {e.node_id: str(e.state) for e in workflow.reload().step_executions}


def _counts(workflow: gd.WorkflowHandle[Any]) -> tuple[str, int, int]:
    progress = workflow.reload().progress()
    return str(workflow.state), progress.done, progress.total


def test_nodes_before_and_after_a_batch_wait_for_all_of_it() -> None:
    w = gd.DynamicWorkflow()
    w.node("first", job=report)
    rows = w.batch(
        "rows", _three(), worker=add_up, aggregate=sum_up, worker_args={"factor": 2}, parallelism=2
    )
    w.node("last", job=report, depends_on="rows")
    workflow = w.start()

    drain()

    assert called[0] == "first"
    assert sorted(called[1:4]) == ["rows_001", "rows_002", "rows_003"]
    assert called[4:] == ["rows.aggregate", "last"]
    assert summaries[0].by_worker == {"rows_001": 90, "rows_002": 290, "rows_003": 490}
    assert summaries[0].total_processed == 30
    assert workflow.result_of(rows) == 870
    assert workflow.result_of("last") == [870]
    assert workflow.results_of("rows.worker") == [90, 290, 490]
    assert _counts(workflow) == ("finished", 5, 5)
    assert workflow.verify_ancestry() == []
    assert workflow.has_passed("rows_002")
    assert workflow.has_passed("rows.worker")
    assert {node["state"] for node in workflow.nodes_with_state()} == {"completed"}


def test_each_end_of_a_worker_starts_the_next_and_the_last_one_the_aggregate() -> None:
    workflow = _batch(_three(), parallelism=1)

    perform_next_step(workflow)
    perform_next_step(workflow)

    assert _counts(workflow) == ("ready", 1, 4)
    states = _states(workflow)
    assert [states[f"rows_00{n}"] for n in (1, 2, 3)] == ["completed", "scheduled", "pending"]

    drain()

    assert called == ["rows_001", "rows_002", "rows_003", "rows.aggregate", "report"]
    assert _counts(workflow) == ("finished", 4, 4)


def test_the_parallelism_of_a_batch_is_changed_by_its_name() -> None:
    workflow = _batch(_three(), parallelism=1)
    perform_next_step(workflow)

    workflow.set_parallelism("rows", 2)

    assert _states(workflow)["rows_002"] == "scheduled"
    assert _states(workflow)["rows_003"] == "pending"
    assert [batch.name for batch in workflow.progress().batches] == ["rows"]


def test_resume_schedules_the_aggregate_that_a_workflow_has_lost(geneva: gd.Drive) -> None:
    workflow = _batch(_three(), parallelism=1)
    for _ in range(4):
        perform_next_step(workflow)
    workflow.pause(actor="ada")
    table = geneva.store.tables.step_executions
    with geneva.engine.begin() as connection:
        connection.execute(table.delete().where(table.c.state == "scheduled"))

    workflow.resume(actor="ada")
    drain()

    assert _counts(workflow) == ("finished", 4, 4)


def test_a_template_can_build_several_batches_that_run_side_by_side() -> None:
    workflow = adding.start(totals=[4, 10])

    drain()

    assert workflow.result_of("report") == [6, 45]
    assert [
        sorted(one.by_worker) for one in sorted(summaries, key=lambda s: s.total_processed)
    ] == [
        ["to_4_001", "to_4_002"],
        ["to_10_001", "to_10_002"],
    ]
    assert _counts(workflow) == ("finished", 7, 7)


def test_a_batch_without_ranges_has_an_idle_worker_and_its_aggregate_runs() -> None:
    workflow = _batch(gd.Batches.none("empty file"))

    drain()

    assert called == ["rows.aggregate", "report"]
    assert (summaries[0].scenario, summaries[0].reason) == ("no_batches", "empty file")
    assert _states(workflow)["rows_000"] == "completed"
    assert _counts(workflow) == ("finished", 4, 4)


def test_a_skipped_batch_counts_as_done_with_its_workers() -> None:
    workflow = _batch(_three())

    workflow.skip("rows", actor="ada")

    assert _counts(workflow) == ("ready", 2, 4)
    drain()
    assert called == ["rows.aggregate", "report"]
    assert summaries[0].reason == "Batch 'rows' was skipped."
    assert _counts(workflow) == ("finished", 4, 4)


@pytest.mark.parametrize(
    ("strategy", "ran", "state"),
    [
        ("fail_fast", ["rows_001"], "paused"),
        ("isolate", ["rows_001", "rows_002", "rows_003"], "paused"),
        (
            "continue_on_failure",
            ["rows_001", "rows_002", "rows_003", "rows.aggregate", "report"],
            "finished",
        ),
    ],
)
def test_the_strategy_says_what_follows_a_failed_worker(
    strategy: str, ran: list[str], state: str
) -> None:
    failing.add("rows_001")
    workflow = _batch(_three(), parallelism=1, failure_strategy=strategy)

    drain()

    assert called == ran
    assert workflow.reload().state == state
    failed = next(e for e in workflow.step_executions if e.node_id == "rows_001")
    assert error_of(failed) == ("builtins.ValueError", "no rows_001")


def test_a_worker_that_was_reset_goes_on_from_its_checkpoint() -> None:
    failing.add("slow")
    batches = gd.Batches.ranges([(0, 30)])
    workflow = _batch(batches, add_up_slowly, checkpoint_interval=10)
    drain()
    failing.clear()
    called.clear()

    workflow.reset_for_retry("rows_001", actor="ada")
    drain()

    assert called == [20, "rows.aggregate", "report"]
    assert summaries[0].by_worker == {"rows_001": 435}
    assert _counts(workflow) == ("finished", 4, 4)


@pytest.mark.parametrize("repair", ["resume", "skip", "resolve_manually", "complete_manually"])
def test_a_failed_worker_can_be_repaired_in_every_way(repair: str) -> None:
    failing.add("rows_002")
    workflow = _batch(_three())
    drain()
    assert _counts(workflow) == ("paused", 1, 4)
    failing.clear()

    match repair:
        case "resume":
            workflow.resume(actor="ada")
        case "complete_manually":
            workflow.complete_manually("rows_002", result=5, actor="ada")
        case _:
            getattr(workflow, repair)("rows_002", actor="ada")
    drain()

    expected = {"resume": 145, "complete_manually": 5}
    assert summaries[0].by_worker.get("rows_002") == expected.get(repair)
    assert _counts(workflow) == ("finished", 4, 4)


def test_the_worker_node_itself_cannot_be_named_in_a_command() -> None:
    failing.add("rows_002")
    workflow = _batch(_three())
    drain()

    with pytest.raises(InvalidStateError) as refused:
        workflow.reset_for_retry("rows.worker", actor="ada")

    assert str(refused.value) == (
        "'rows.worker' runs as 3 workers. Name one of them, such as 'rows_001'; `resume` "
        "runs all failed workers again."
    )


def test_an_exported_graph_is_imported_while_a_batch_is_under_way() -> None:
    workflow = _batch(
        gd.Batches.ranges([(0, 10, {"region": "north"}), (10, 20)]),
        failure_strategy="isolate",
        tolerate=gd.Tolerate(workers=0),
        parallelism=1,
        checkpoint_interval=7,
    )
    perform_next_step(workflow)
    perform_next_step(workflow)
    workflow.pause(actor="ada")
    exported = workflow.export_dag()

    workflow.import_dag(exported.replace('"report"', '"renamed"'), actor="ada")

    nodes = json.loads(exported)["nodes"]
    [batch] = [node for node in nodes.values() if node["name"] == "rows"]
    assert batch["args"] == {
        "worker": "rows.worker",
        "ranges": [[0, 10, {"region": "north"}], [10, 20]],
        "parallelism": 1,
        "failure_strategy": "isolate",
        "tolerate": {"workers": 0},
    }
    assert (nodes["rows.worker"]["part"], nodes["rows.worker"]["checkpoint_interval"]) == (
        "worker",
        7,
    )
    assert workflow.export_dag() == exported.replace('"report"', '"renamed"')
    assert _counts(workflow) == ("paused", 1, 4)
    workflow.resume(actor="ada")
    drain()
    assert called == ["rows_001", "rows_002", "rows.aggregate", "renamed"]
    assert _counts(workflow) == ("finished", 4, 4)


def test_a_batch_with_workers_stays_in_the_graph() -> None:
    workflow = _batch(_three())
    perform_next_step(workflow)
    workflow.pause(actor="ada")
    document = json.loads(workflow.export_dag())
    [rows] = [key for key, node in document["nodes"].items() if node["name"] == "rows"]
    document["nodes"] = {rows: {"name": "rows", "depends_on": []}}

    with pytest.raises(InvalidInput) as refused:
        workflow.import_dag(document, actor="ada")

    assert str(refused.value) == (
        "Node 'rows.worker' has workers that are not done, but the new graph does not have it. "
        "Keep it under its id, 'rows.worker'."
    )
