"""A batch of a dynamic workflow is checked where it is added, and where its graph is read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.dynamic.stored_graph import StoredGraph
from geneva_drive.errors import InvalidInput, StepConfigurationError

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@gd.job(name="dynamic_batches.work")
def work(batch: gd.Batch, path: str = "") -> None: ...


@gd.job(name="dynamic_batches.sum_up")
def sum_up(results: gd.BatchResults) -> None: ...


def _two() -> gd.Batches:
    return gd.Batches.split(total=4, batch_size=2)


def _add(w: gd.DynamicWorkflow, **given: Any) -> str:
    terms = {"name": "rows", "batches": _two(), "worker": work, "aggregate": sum_up}
    return w.batch(**{**terms, **given})


def test_a_batch_has_three_nodes_and_is_named_by_its_aggregate() -> None:
    w = gd.DynamicWorkflow()
    before = w.node("before", job="other")

    rows = _add(w, worker_args={"path": "x"}, checkpoint_interval=50)
    after = w.node("after", job="other")
    by_name = w.node("by_name", job="other", depends_on=["rows", "rows.worker"])

    first, worker, aggregate = list(w.nodes.values())[1:4]
    assert (first.name, first.depends_on) == ("rows", (before,))
    assert (worker.id, worker.name, worker.depends_on) == (
        "rows.worker",
        "rows.worker",
        (first.id,),
    )
    assert (dict(worker.args), worker.checkpoint_interval) == ({"path": "x"}, 50)
    assert (aggregate.id, aggregate.name) == (rows, "rows.aggregate")
    assert aggregate.depends_on == ("rows.worker",)
    assert w.nodes[after].depends_on == w.nodes[by_name].depends_on == (rows,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"batches": [(0, 5)]},
            "Batch 'rows': batches is [(0, 5)]. Pass a gd.Batches, such as "
            "gd.Batches.split(total=1_000, batch_size=100).",
        ),
        (
            {"batches": gd.Batches.csv("rows.csv", batch_size=5)},
            "Batch 'rows': a stored graph holds ranges, not a query or file to divide. Use "
            "@gd.batch in a class for gd.Batches.over() and .csv(), or pass "
            "gd.Batches.ranges([...]).",
        ),
        ({"parallelism": 0}, "Batch 'rows': parallelism must be at least 1, got 0."),
        (
            {"paralelism": 2},
            "Batch 'rows': there is no option 'paralelism'. Did you mean 'parallelism'? The "
            "options are: checkpoint_interval, failure_strategy, parallelism, tolerate.",
        ),
        (
            {"worker": sum_up},
            "Node 'rows.worker': job 'dynamic_batches.sum_up' is called with (batch) but takes "
            "(results: 'gd.BatchResults') -> 'None': missing a required argument: 'results'.",
        ),
        (
            {"worker_args": {"batch": 1}},
            "Node 'rows.worker': args has 'batch', which the engine passes to the job of a batch "
            "worker. Give the parameter another name.",
        ),
        (
            {"name": "file"},
            "Batch 'file': its workers are named file_001 and so on, and there is a node "
            "'file_007'. Choose another name.",
        ),
    ],
    ids=["no_batches", "csv", "terms", "unknown_option", "signature", "args", "name"],
)
def test_a_batch_that_cannot_run_is_refused_and_nothing_is_added(
    given: dict[str, Any], message: str
) -> None:
    w = gd.DynamicWorkflow()
    w.node("file_007", job="other")

    with pytest.raises(InvalidInput) as refused:
        _add(w, **given)

    assert str(refused.value) == message
    assert len(w.nodes) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "rows_001",
            "'rows_001' is the name of a worker of batch 'rows'. Choose another name.",
        ),
        (
            "rows.worker",
            "A node named 'rows.worker' was added already: rows.worker, with the job "
            "'dynamic_batches.work'. Names are unique within a workflow; choose another.",
        ),
    ],
)
def test_no_other_node_has_the_name_of_a_worker(name: str, message: str) -> None:
    w = gd.DynamicWorkflow()
    _add(w)

    with pytest.raises(InvalidInput) as refused:
        w.node(name, job="other")

    assert str(refused.value) == message


def test_the_job_of_batches_is_refused_as_a_job_of_a_node() -> None:
    with pytest.raises(InvalidInput) as refused:
        gd.DynamicWorkflow().node("rows", job="geneva_drive.batch")

    assert str(refused.value) == (
        "Node 'rows': the job 'geneva_drive.batch' divides the work of a batch. Add it with "
        "w.batch(name, batches, worker=job, aggregate=job)."
    )


def _document() -> dict[str, Any]:
    w = gd.DynamicWorkflow()
    _add(w, tolerate=gd.Tolerate(percent=5.0))
    w.node("after", job="other")
    return w.freeze(_NOW).to_dag()


def test_a_written_batch_is_read_as_it_was() -> None:
    document = _document()

    assert StoredGraph.parse(document).to_dag() == document


@pytest.mark.parametrize(
    ("node", "changes", "message"),
    [
        (
            "rows",
            {"args": {"worker": "rows.worker", "ranges": [[0, 5], [3, 8]]}},
            "The ranges 0 to 5 and 3 to 8 overlap, so items would be done twice. The end of a "
            "range is not part of it: begin the next one there.",
        ),
        (
            "rows",
            {"args": {"worker": "other", "ranges": []}},
            "The worker 'other' is not a node with part 'worker' that depends on this batch alone.",
        ),
        ("rows", {"args": {"ranges": []}}, "The args of a batch are ill-formed: 'worker'."),
        (
            "rows.worker",
            {"part": "boss"},
            "part is 'worker' or 'aggregate' of a batch, not 'boss'.",
        ),
        ("rows.worker", {"name": "crew"}, "The worker of a batch has its id as its name."),
        (
            "rows.worker",
            {"checkpoint_interval": 0},
            "checkpoint_interval is a whole number from 1 up, not 0.",
        ),
        (
            "rows.aggregate",
            {"depends_on": []},
            "An aggregate depends on the worker of its batch alone.",
        ),
        ("after", {"name": "rows_001"}, "'rows_001' is the id of a worker of 'rows.worker'."),
        (
            "after",
            {"depends_on": ["rows.worker"]},
            "Only its aggregate depends on 'rows.worker'. Depend on the aggregate.",
        ),
        (
            "after",
            {"checkpoint_interval": 5},
            "Only the worker of a batch has a checkpoint interval.",
        ),
    ],
)
def test_an_edited_batch_that_cannot_run_is_refused(
    node: str, changes: dict[str, Any], message: str
) -> None:
    document = _document()
    [edited] = [one for one in document["nodes"].values() if one["name"] == node]
    edited |= changes

    with pytest.raises(StepConfigurationError) as refused:
        StoredGraph.parse(document)

    assert message in [fault.message for fault in refused.value.faults]
