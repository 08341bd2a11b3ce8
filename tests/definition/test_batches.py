from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options.expansion import ExpansionTerms
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import edges, options, refusal, steps


class RowImport(gd.Workflow):
    @gd.step
    def fetch(self) -> None: ...

    @gd.batch(
        checkpoint_interval=200,
        parallelism=4,
        failure_strategy="isolate",
        tolerate=gd.Tolerate(workers=1, percent=2.5),
        run_if=True,
    )
    def rows(self) -> gd.Batches:
        return gd.Batches.split(total=10_000, batch_size=2_000)

    @rows.worker(transaction=True, retry=gd.Retry(max=3), renamed_from="handle")
    def process(self, batch: Any, session: Any) -> None: ...

    @rows.aggregate
    async def summarize(self, results: Any) -> None: ...

    @gd.step
    def notify(self) -> None: ...


def test_a_batch_is_followed_by_its_worker_and_its_aggregate() -> None:
    assert edges(RowImport) == {
        "fetch": [],
        "rows": ["fetch"],
        "process": ["rows"],
        "summarize": ["process"],
        "notify": ["summarize"],
    }
    assert definition_of(RowImport).is_graph is True


def test_the_parts_of_a_batch_know_their_kind() -> None:
    rows, process, summarize = (
        definition_of(RowImport).require(name) for name in ("rows", "process", "summarize")
    )

    assert (rows.kind, rows.is_batch, rows.expands) == (NodeKind.BATCH, True, True)
    assert (process.kind, process.is_worker, process.expands) == (NodeKind.WORKER, True, False)
    assert (summarize.kind, summarize.is_aggregate) == (NodeKind.AGGREGATE, True)
    assert (process.is_async, summarize.is_async) == (False, True)
    assert [node.keeps_result for node in (rows, process, summarize)] == [False, True, True]


def test_a_batch_holds_its_terms_and_the_options_of_a_step() -> None:
    assert definition_of(RowImport).require(RowImport.rows).expansion == ExpansionTerms(
        parallelism=4,
        failure_strategy=gd.FailureStrategy.ISOLATE,
        tolerate=gd.Tolerate(workers=1, percent=2.5),
        checkpoint_interval=200,
    )
    assert options(RowImport, "rows").condition.skips_when is False
    assert options(RowImport, "process").transaction is True
    assert options(RowImport, "process").policies[0].max_reattempts == 3


def test_a_batch_without_options_runs_all_workers_and_fails_fast() -> None:
    class Plain(gd.Workflow):
        rows = gd.batch(lambda self: gd.Batches.none())
        process = rows.worker(lambda self, batch: None)
        summarize = rows.aggregate(lambda self, results: None)

    assert definition_of(Plain).require("rows").expansion == ExpansionTerms(
        parallelism=None,
        failure_strategy=gd.FailureStrategy.FAIL_FAST,
        tolerate=None,
        checkpoint_interval=1000,
    )


def test_a_definition_finds_the_parts_of_a_batch_from_each_other() -> None:
    definition = definition_of(RowImport)

    assert definition.batch_of("process").name == "rows"
    assert definition.batch_of("summarize").name == "rows"
    assert definition.worker_of("rows").name == "process"
    assert definition.aggregate_of("rows").name == "summarize"


@pytest.mark.parametrize(
    ("node_id", "found"),
    [
        ("process", "process"),
        ("process_000", "process"),
        ("process_004", "process"),
        ("process_1000", "process"),
        ("handle_004", "process"),
        ("process_4", None),
        ("process_0004", None),
        ("rows", None),
        ("rows_001", None),
        ("nothing_001", None),
    ],
)
def test_the_execution_of_a_worker_leads_to_its_node(node_id: str, found: str | None) -> None:
    node = definition_of(RowImport).expansion_node(node_id)

    assert (node.name if node else None) == found


def test_the_execution_of_a_worker_that_was_removed_leads_to_its_place() -> None:
    class Later(RowImport):
        rows = gd.removed_step()  # type: ignore[assignment]
        process = gd.removed_step()  # type: ignore[assignment]
        summarize = gd.removed_step()  # type: ignore[assignment]

    node = definition_of(Later).expansion_node("process_004")

    assert node is not None
    assert node.is_removed
    assert edges(Later) == {"fetch": [], "notify": ["fetch"]}


def test_a_worker_and_an_aggregate_go_where_their_batch_goes() -> None:
    class Report(gd.Workflow):
        @gd.step
        def first(self) -> None: ...

        @gd.batch(before_step=first)
        def rows(self) -> gd.Batches:
            return gd.Batches.none()

        @gd.step
        def second(self) -> None: ...

        @rows.aggregate
        def summarize(self, results: Any) -> None: ...

        @gd.step(after_step=rows)
        def check(self) -> None: ...

        @rows.worker
        def process(self, batch: Any) -> None: ...

        @gd.step(after_step="process")
        def check_again(self) -> None: ...

        @gd.step(before_step=rows)
        def begin(self) -> None: ...

    class MovedReport(Report):
        @gd.batch(after_step="second")
        def rows(self) -> gd.Batches:
            return gd.Batches.none()

    whole = ["rows", "process", "summarize"]
    assert steps(Report) == ["begin", *whole, "check_again", "check", "first", "second"]
    assert steps(MovedReport) == ["begin", "check_again", "check", "first", "second", *whole]


def test_a_batch_may_be_a_node_of_the_graph() -> None:
    class Report(gd.Workflow):
        fetch = gd.task(lambda self: None)
        route = gd.decision(lambda self: ["rows"], depends_on=fetch)
        begin = gd.step(lambda self: None)

        rows = gd.batch(lambda self: gd.Batches.none(), depends_on=route)
        process = rows.worker(lambda self, batch: None)
        summarize = rows.aggregate(lambda self, results: None)

        announce = gd.task(lambda self: None, depends_on=rows)

        pages = gd.batch(lambda self: gd.Batches.none(), also_depends_on=begin)
        read = pages.worker(lambda self, batch: None)
        collect = pages.aggregate(lambda self, results: None)

    assert edges(Report) == {
        "fetch": [],
        "route": ["fetch"],
        "begin": [],
        "rows": ["route"],
        "process": ["rows"],
        "summarize": ["process"],
        "announce": ["rows"],
        "pages": ["summarize", "begin"],
        "read": ["pages"],
        "collect": ["read"],
    }
    assert definition_of(Report).worker_of("pages").name == "read"


def test_a_child_may_override_the_parts_of_a_batch_with_methods() -> None:
    class Quicker(RowImport):
        def rows(self) -> gd.Batches:
            return gd.Batches.none()

        def process(self, batch: Any, session: Any) -> None: ...

        @RowImport.rows.aggregate(queue="slow")
        async def summarize(self, results: Any) -> None: ...

    definition = definition_of(Quicker)
    assert steps(Quicker) == steps(RowImport)
    assert definition.require("rows").expansion.parallelism == 4
    assert definition.require("process").options.transaction is True
    assert definition.aggregate_of("rows").options.queue == "slow"
    assert definition.signature == definition_of(RowImport).signature


def test_a_worker_is_another_shape_than_a_step() -> None:
    class Plain(gd.Workflow):
        @gd.step
        def fetch(self) -> None: ...

        @gd.step
        def rows(self) -> None: ...

        @gd.step(renamed_from="handle")
        def process(self) -> None: ...

        @gd.step
        def summarize(self) -> None: ...

        @gd.step
        def notify(self) -> None: ...

    assert Plain.compiled_dag() == RowImport.compiled_dag()
    assert definition_of(Plain).signature != definition_of(RowImport).signature


PROCESS = """
    @rows.worker
    def process(self, batch): ...
"""
SUMMARIZE = """
    @rows.aggregate
    def summarize(self, results): ...
"""


def refused(*arguments: str, rest: str = PROCESS + SUMMARIZE) -> str:
    """The error of a class with one batch, which stands in line 3."""
    return refusal(
        f"class CsvImport(gd.Workflow):\n"
        f"    @gd.step\n"
        f"    def fetch(self): ...\n"
        f"    @gd.batch({', '.join(arguments)})\n"
        f"    def rows(self): ...\n"
        f"{rest}"
    )


OPTIONS = {
    "no interval": (
        "checkpoint_interval=0",
        "checkpoint_interval must be at least 1, got 0.",
    ),
    "an interval of time": (
        "checkpoint_interval=1.5",
        "checkpoint_interval must be a whole number, got 1.5.",
    ),
    "no worker at once": ("parallelism=0", "parallelism must be at least 1, got 0."),
    "parallelism that is a flag": (
        "parallelism=True",
        "parallelism must be a whole number, got True.",
    ),
    "a strategy that is misspelled": (
        'failure_strategy="fail_first"',
        "failure_strategy must be 'fail_fast', 'continue_on_failure' or 'isolate', got "
        "'fail_first'. Did you mean 'fail_fast'?",
    ),
    "a strategy that is no word": (
        "failure_strategy=None",
        "failure_strategy must be 'fail_fast', 'continue_on_failure' or 'isolate', got None.",
    ),
    "tolerate that is a number": (
        "tolerate=3",
        "tolerate takes a gd.Tolerate, not 3: write tolerate=gd.Tolerate(workers=1).",
    ),
    "a kept result": (
        "keep_result=True",
        "keep_result is not an option of a batch: the results of its worker and its aggregate are "
        "always kept.",
    ),
}


@pytest.mark.parametrize(("argument", "message"), OPTIONS.values(), ids=OPTIONS.keys())
def test_a_wrong_option_of_a_batch_is_refused(argument: str, message: str) -> None:
    assert refused(argument) == f"Batch 'rows': {message} (signup.py:4)"


def test_an_unknown_option_of_a_batch_is_refused_with_those_that_there_are() -> None:
    assert "there is no option 'paralelism'. Did you mean 'parallelism'?" in refused("paralelism=3")


TOLERANCES = {
    "nothing": (
        "",
        "gd.Tolerate has no limit. Pass workers, items or percent, or leave out tolerate.",
    ),
    "less than no worker": ("workers=-1", "gd.Tolerate: workers must be at least 0, got -1."),
    "half an item": ("items=0.5", "gd.Tolerate: items must be a whole number, got 0.5."),
    "less than 0 percent": ("percent=-1", "gd.Tolerate: percent must be at least 0, got -1."),
    "more than 100 percent": ("percent=101", "gd.Tolerate: percent must be at most 100, got 101."),
}


@pytest.mark.parametrize(("argument", "message"), TOLERANCES.values(), ids=TOLERANCES.keys())
def test_a_wrong_tolerance_is_refused_where_it_is_written(argument: str, message: str) -> None:
    assert refused(f"tolerate=gd.Tolerate({argument})") == f"{message} (signup.py:4)"


PARTS = {
    "no worker": (
        SUMMARIZE,
        "Batch 'rows' has no worker. Decorate a method with @rows.worker. (signup.py:4)",
    ),
    "no aggregate": (
        PROCESS,
        "Batch 'rows' has no aggregate. Decorate a method with @rows.aggregate. (signup.py:4)",
    ),
    "two workers": (
        PROCESS + SUMMARIZE + "    @rows.worker()\n    def again(self, batch): ...\n",
        "Batch 'rows' has two workers: 'process' and 'again'. Keep one of them. (signup.py:12)",
    ),
    "a worker with two names": (
        PROCESS + SUMMARIZE + "    again = process\n",
        "Batch 'rows' has two workers: 'process' and 'again'. Keep one of them. (signup.py:7)",
    ),
    "two aggregates": (
        PROCESS + SUMMARIZE + "    @rows.aggregate\n    def sum_up(self, results): ...\n",
        "Batch 'rows' has two aggregates: 'summarize' and 'sum_up'. Keep one of them. "
        "(signup.py:12)",
    ),
    "a worker without a method": (
        "    process = rows.worker(queue='slow')\n",
        "CsvImport.process is not a batch worker: <batch>.worker(...) got no method. Decorate a "
        "method with it, or pass one: <batch>.worker(method, ...). (signup.py:6)",
    ),
    "a place for the worker": (
        "    @rows.worker(after_step=rows)\n    def process(self, batch): ...\n",
        "Batch worker 'process': after_step is not an option of a batch worker, which follows its "
        "batch. Pass it to @gd.batch. (signup.py:6)",
    ),
    "a dependency of the aggregate": (
        "    @rows.aggregate(depends_on=fetch)\n    def summarize(self, results): ...\n",
        "Aggregate 'summarize': depends_on is not an option of an aggregate, which follows its "
        "batch. Pass it to @gd.batch. (signup.py:6)",
    ),
    "a kept result of the worker": (
        "    @rows.worker(keep_result=False)\n    def process(self, batch): ...\n",
        "Batch worker 'process': keep_result is not an option of a batch worker: its result is "
        "always kept. (signup.py:6)",
    ),
    "a worker without its batch": (
        "    @rows.worker(timeout=5)\n    def process(self): ...\n",
        "Batch worker 'process': 'process' is called with (self, batch) but takes (self): too many "
        "positional arguments. Add the parameter batch, as in process(self, batch). (signup.py:6)",
    ),
    "a worker without its session": (
        "    @rows.worker(transaction=True)\n    def process(self, batch): ...\n",
        "Batch worker 'process': 'process' is called with (self, batch, session) but takes (self, "
        "batch): too many positional arguments. Add the parameter session, as in process(self, "
        "batch, session). (signup.py:6)",
    ),
    "a step before the worker": (
        PROCESS + SUMMARIZE + "    @gd.step(before_step='process')\n    def check(self): ...\n",
        "before_step of CsvImport.check names 'process', which comes right after its batch. Name "
        "the batch 'rows'. (signup.py:12)",
    ),
    "a step with the name of an execution": (
        PROCESS + SUMMARIZE + "    @gd.step\n    def process_001(self): ...\n",
        "CsvImport.process_001: 'process_001' is the name of an execution of the batch worker "
        "'process'. Choose another name. (signup.py:12)",
    ),
    "a former name of an execution": (
        PROCESS + SUMMARIZE + "    @gd.step(renamed_from='process_001')\n    def one(self): ...\n",
        "CsvImport.one: 'process_001' is the name of an execution of the batch worker "
        "'process'. Choose another name. (signup.py:12)",
    ),
    "a name without room for numbers": (
        f"    {'w' * 185} = rows.worker(lambda self, batch: None)\n{SUMMARIZE}",
        f"The batch worker name {'w' * 40!r}... of CsvImport is 185 characters long; at most 184 "
        f"can be stored, as its executions have a number added to it. (signup.py:6)",
    ),
    "a step that wants a batch": (
        "    @gd.step\n    def process(self, batch): ...\n",
        "Step 'process': 'process' is called with (self) but takes (self, batch): missing a "
        "required argument: 'batch'. Use the .worker of a batch to receive `batch`. "
        "(signup.py:6)",
    ),
}


@pytest.mark.parametrize(("rest", "message"), PARTS.values(), ids=PARTS.keys())
def test_a_wrong_part_of_a_batch_is_refused_where_it_is_written(rest: str, message: str) -> None:
    assert refused(rest=rest) == message


def test_the_worker_of_another_class_is_refused() -> None:
    message = refused(
        rest=f"{PROCESS}{SUMMARIZE}\n"
        "class Other(gd.Workflow):\n"
        "    @CsvImport.rows.worker\n"
        "    def process(self, batch): ...\n"
    )

    assert message == (
        "Other.process is a batch worker of <batch 'rows' at signup.py:4>, which Other does not "
        "have. Declare both in one class. (signup.py:14)"
    )


def test_the_worker_of_a_removed_batch_is_refused() -> None:
    message = refused(
        rest=f"{PROCESS}{SUMMARIZE}\nclass Other(CsvImport):\n    rows = gd.removed_step()\n"
    )

    assert message == (
        "Other.process is a batch worker of 'rows', which is no longer a batch. Write "
        "process = gd.removed_step(). (signup.py:14)"
    )
