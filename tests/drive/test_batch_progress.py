"""How far batches and maps have come: progress, nodes, `why()`, parallelism and events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event

import geneva_drive as gd
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.testing import drain, perform_next_step, perform_step_inline

Handle = gd.WorkflowHandle[Any]

failing: set[str] = set()


@pytest.fixture(autouse=True)
def _nothing_fails() -> None:
    failing.clear()


class Import(gd.Workflow):
    type_name = "ProgressImport"

    @gd.batch(checkpoint_interval=100, parallelism=2)
    def rows(self) -> gd.Batches:
        return gd.Batches.split(total=self.context.get("total", 1_000), batch_size=200)

    @rows.worker
    def process(self, batch: gd.Batch) -> Any:
        if batch.id in failing:
            raise ValueError(f"row {batch.position} has no price")
        if batch.position == batch.start:
            return batch.checkpoint_yield(batch.start + 100, 100)
        return "done"

    @rows.aggregate
    def summarize(self, results: gd.BatchResults) -> int:
        return results.total_processed


class Isolated(Import):
    type_name = "ProgressIsolated"

    @gd.batch(parallelism=2, failure_strategy="isolate")
    def rows(self) -> gd.Batches:
        return gd.Batches.split(total=1_000, batch_size=200)


class Careless(Import):
    type_name = "ProgressCareless"

    @gd.batch(failure_strategy="continue_on_failure")
    def rows(self) -> gd.Batches:
        return gd.Batches.split(total=600, batch_size=200)


class Calls(gd.Workflow):
    type_name = "ProgressCalls"

    @gd.map(lambda self: self.context["items"], parallelism=2)
    def call_tool(self, item: str) -> str:
        if item in failing:
            raise ValueError(f"{item} is down")
        return item.upper()

    @gd.step
    def answer(self) -> None: ...


def _performed(workflow: Handle, steps: int) -> Handle:
    for _ in range(steps):
        perform_next_step(workflow)
    return workflow.reload()


def _batch(workflow: Handle) -> gd.BatchProgress:
    [batch] = workflow.progress().batches
    return batch


def _counts(workflow: Handle) -> tuple[int, ...]:
    batch = _batch(workflow)
    return batch.total, batch.done, batch.running, batch.pending, batch.failed


def _nodes(workflow: Handle) -> list[tuple[str, str]]:
    return [(node["id"], str(node["state"])) for node in workflow.nodes_with_state()]


@pytest.fixture
def statements(geneva: gd.Drive) -> Iterator[list[str]]:
    """The statements that reach the database."""
    seen: list[str] = []

    def note(*arguments: Any) -> None:
        seen.append(arguments[2])

    event.listen(Engine, "before_cursor_execute", note)
    yield seen
    event.remove(Engine, "before_cursor_execute", note)


def test_a_batch_is_counted_from_its_expansion_on(geneva: gd.Drive) -> None:
    workflow = Import.create()
    assert workflow.progress().batches == ()

    assert _counts(_performed(workflow, 1)) == (5, 0, 0, 5, 0)
    assert (workflow.progress().done, workflow.progress().total) == (1, 3)

    assert _counts(_performed(workflow, 1)) == (5, 1, 0, 4, 0)
    batch = _batch(workflow)
    assert (batch.name, batch.node, batch.kind) == ("rows", "process", "batch")
    assert (batch.items_done, batch.items_total, batch.parallelism) == (200, 1_000, 2)
    assert (batch.fraction, batch.is_over) == (0.2, False)

    drain()
    assert _counts(workflow.reload()) == (5, 5, 0, 0, 0)
    assert (workflow.progress().done, workflow.progress().total) == (3, 3)
    batch = _batch(workflow)
    assert (batch.is_over, batch.rate, batch.remaining) == (True, None, timedelta(0))
    assert workflow.result == 1_000


def test_no_worker_of_a_canceled_batch_is_pending(geneva: gd.Drive) -> None:
    workflow = _performed(Import.create(), 2).cancel()
    assert _counts(workflow) == (5, 1, 0, 0, 0)


def test_what_a_running_worker_has_yielded_counts(geneva: gd.Drive) -> None:
    found: list[gd.BatchProgress] = []

    class Looking(gd.Workflow):
        type_name = "ProgressLooking"

        @gd.batch
        def rows(self) -> gd.Batches:
            return gd.Batches.split(total=500, batch_size=500)

        @rows.worker
        def process(self, batch: gd.Batch) -> Any:
            if not batch.has_checkpoint:
                return batch.checkpoint_yield(300, 300)
            found.append(_batch(gd.Workflow.find(self.id)))
            return None

        @rows.aggregate
        def summarize(self, results: Any) -> None: ...

    Looking.create()
    drain()

    [batch] = found
    assert (batch.running, batch.pending, batch.items_done, batch.items_total) == (1, 0, 300, 500)


def test_the_rate_and_the_time_left_follow_from_the_time_since_the_expansion(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    class Stepping:
        seconds = 0

        def now(self) -> datetime:
            return begun_at + timedelta(seconds=self.seconds)

    clock = Stepping()
    monkeypatch.setattr(geneva, "clock", clock)
    workflow = _performed(Import.create(), 2)

    clock.seconds = 10
    batch = _batch(workflow)
    assert (batch.rate, batch.remaining) == (20.0, timedelta(seconds=40))

    batch = _batch(workflow.pause())
    assert (batch.rate, batch.remaining) == (None, None)


def test_progress_takes_as_many_queries_for_many_workers_as_for_few(
    geneva: gd.Drive, statements: list[str]
) -> None:
    def queries(total: int) -> int:
        workflow = _performed(Import.create(context={"total": total}), 1)
        statements.clear()
        workflow.progress()
        workflow.why()
        return len(statements)

    assert queries(400) == queries(20_000)


def test_workers_take_the_place_of_their_node_once_they_exist(geneva: gd.Drive) -> None:
    workflow = Import.create(context={"total": 600})
    assert _nodes(workflow) == [
        ("rows", "scheduled"),
        ("process", "pending"),
        ("summarize", "pending"),
    ]

    assert _nodes(_performed(workflow, 1)) == [
        ("rows", "completed"),
        ("process_001", "scheduled"),
        ("process_002", "scheduled"),
        ("process_003", "pending"),
        ("summarize", "pending"),
    ]


def test_a_batch_without_work_lists_its_idle_worker(geneva: gd.Drive) -> None:
    workflow = _performed(Import.create(context={"total": 0}), 1)
    assert _nodes(workflow)[1] == ("process_000", "completed")
    assert (_counts(workflow), _batch(workflow).fraction) == ((0, 0, 0, 0, 0), 1.0)


def test_a_map_counts_its_items_as_workers(geneva: gd.Drive) -> None:
    workflow = _performed(Calls.create(context={"items": ["a", "b", "c"]}), 2)
    assert _nodes(workflow) == [
        ("call_tool_001", "completed"),
        ("call_tool_002", "scheduled"),
        ("call_tool_003", "scheduled"),
        ("answer", "pending"),
    ]
    batch = _batch(workflow)
    assert (batch.name, batch.kind, batch.items_done, batch.items_total) == (
        "call_tool",
        "map",
        1,
        3,
    )

    empty = _performed(Calls.create(context={"items": []}), 1)
    assert _nodes(empty) == [("call_tool", "completed"), ("answer", "scheduled")]
    assert _batch(empty).is_over


def test_has_passed_knows_single_workers_and_the_batch_as_a_whole(geneva: gd.Drive) -> None:
    workflow = _performed(Import.create(), 2)
    passed = {name: workflow.has_passed(name) for name in ("rows", "process_001", "process_002")}
    assert passed == {"rows": True, "process_001": True, "process_002": False}
    assert not workflow.has_passed(Import.process)

    drain()
    assert workflow.has_passed(Import.process)
    assert not workflow.has_passed("process_009")
    with pytest.raises(gd.errors.StepNotDefined):
        workflow.has_passed("nonsense_1")


@pytest.mark.parametrize("made", [Import, Careless], ids=["done", "all failed"])
def test_the_ancestry_of_batches_holds(geneva: gd.Drive, made: type[Import]) -> None:
    if made is Careless:
        failing.update(("001", "002", "003"))
    workflow = made.create()
    drain()
    assert workflow.reload().state == "finished"
    assert workflow.verify_ancestry() == []


def test_a_frozen_batch_goes_on_by_its_stored_graph(geneva: gd.Drive) -> None:
    workflow = _performed(Import.create(), 2).freeze_dag()
    assert list(workflow.dag["nodes"]) == ["rows", "process", "summarize"]
    assert _counts(workflow) == (5, 1, 0, 4, 0)

    workflow.import_dag(workflow.export_dag())
    drain()
    assert (workflow.reload().state, workflow.verify_ancestry()) == ("finished", [])
    assert (workflow.progress().done, workflow.progress().total) == (3, 3)


def test_why_counts_the_workers_of_a_batch_under_way(geneva: gd.Drive) -> None:
    workflow = _performed(Import.create(), 2)
    assert workflow.why() == (
        "1 of 5 workers of 'process' is done, 4 pending (200 of 1,000 items), but no running "
        "worker serves ProgressImport on queue 'default': start `geneva worker` with an app that "
        "imports the class."
    )


def test_why_names_the_worker_that_holds_a_batch(geneva: gd.Drive) -> None:
    failing.add("002")
    workflow = Import.create()
    drain()
    assert workflow.reload().why().partition("UTC ")[2] == (
        "(ValueError: row 200 has no price): 1 of 5 workers of 'process' is done, 3 pending, 1 "
        f"failed (200 of 1,000 items). Worker 'process_002' failed. `geneva reset {workflow.id} "
        f"process_002` runs it again from its checkpoint, `geneva resume {workflow.id}` all that "
        "failed."
    )


def test_why_names_the_first_workers_of_many_that_failed(geneva: gd.Drive) -> None:
    failing.update(("001", "002", "004", "005"))
    workflow = Isolated.create()
    drain()
    assert workflow.reload().why().partition("UTC ")[2] == (
        "(4 of the 5 workers of 'process' failed): 1 of 5 workers of 'process' is done, 4 failed "
        "(200 of 1,000 items). Workers 'process_001' (ValueError: row 0 has no price), "
        "'process_002' (ValueError: row 200 has no price), 'process_004' (ValueError: row 600 has "
        f"no price) and 1 more failed. `geneva reset {workflow.id} process_001` runs 'process_001' "
        f"again from its checkpoint, `geneva resume {workflow.id}` all that failed."
    )


def test_why_tells_how_a_paused_batch_continues(geneva: gd.Drive) -> None:
    workflow = _performed(Calls.create(context={"items": ["a", "b"]}), 2).pause()
    assert workflow.why().partition("UTC")[2] == (
        ": 1 of 2 items of 'call_tool' is done, 1 pending. "
        f"`geneva resume {workflow.id}` continues."
    )


def test_why_counts_batches_beside_other_nodes(geneva: gd.Drive) -> None:
    class Beside(gd.Workflow):
        type_name = "ProgressBeside"

        @gd.map(lambda self: ["a", "b"])
        def call_tool(self, item: str) -> None: ...

        @gd.task(depends_on=[])
        def mail(self) -> None: ...

    workflow = Beside.create()
    perform_step_inline(workflow, "call_tool")
    assert workflow.reload().why().count("no running worker serves ProgressBeside") == 2
    assert workflow.why().startswith("0 of 2 items of 'call_tool' are done, 2 pending, but no")
    assert " Step 'mail' is due, but no" in workflow.why()


def test_more_workers_run_at_once_after_set_parallelism(geneva: gd.Drive) -> None:
    workflow = _performed(Import.create(), 1)
    workflow.set_parallelism("rows", 4, actor="ada", reason="the night is short")
    assert [state for _, state in _nodes(workflow)][1:6] == ["scheduled"] * 4 + ["pending"]
    assert _batch(workflow).parallelism == 4

    workflow.set_parallelism(Import.process, None)
    assert [state for _, state in _nodes(workflow)][1:6] == ["scheduled"] * 5
    first, second = workflow.audit_entries
    assert (first.command, first.actor, first.reason) == (
        "set_parallelism",
        "ada",
        "the night is short",
    )
    assert second.actor is None


def test_fewer_workers_start_after_set_parallelism(geneva: gd.Drive) -> None:
    workflow = _performed(Import.create(), 1).set_parallelism("rows", 1)
    _performed(workflow, 1)
    assert [state for _, state in _nodes(workflow)][1:4] == ["completed", "scheduled", "pending"]


@pytest.mark.parametrize("n", [0, -1, True, "4", 1.5, 2**31])
def test_set_parallelism_refuses_what_is_no_number_of_workers(geneva: gd.Drive, n: Any) -> None:
    workflow = _performed(Import.create(), 1)
    with pytest.raises(InvalidInput, match=r"^set_parallelism\(n=\.\.\.\) must be "):
        workflow.set_parallelism("rows", n)
    assert (_batch(workflow).parallelism, workflow.audit_entries) == (2, [])


def test_set_parallelism_refuses_what_has_no_workers(geneva: gd.Drive) -> None:
    workflow = Import.create()
    with pytest.raises(InvalidStateError, match="'rows' has no workers yet"):
        workflow.set_parallelism("rows", 3)
    with pytest.raises(InvalidStateError, match="'summarize' is neither a batch nor a map"):
        workflow.set_parallelism("summarize", 3)
    with pytest.raises(gd.errors.StepNotDefined):
        workflow.set_parallelism("nothing", 3)
    drain()
    with pytest.raises(InvalidStateError, match="change the parallelism of a finished workflow"):
        workflow.set_parallelism("rows", 3)


def test_events_tell_of_the_expansion_and_the_end_of_a_batch(geneva: gd.Drive) -> None:
    seen: list[tuple[Any, ...]] = []

    def note(told: gd.TelemetryEvent) -> None:
        if isinstance(told, gd.BatchChanged):
            seen.append((told.step_name, told.to_state, told.total, told.done, told.failed))

    failing.add("002")
    stop = geneva.events.subscribe(note)
    Careless.create()
    drain()
    Calls.create(context={"items": []})
    drain()
    stop()

    assert seen == [
        ("process", "in_progress", 3, 0, 0),
        ("process", "completed", 3, 2, 1),
        ("call_tool", "in_progress", 0, 0, 0),
        ("call_tool", "completed", 0, 0, 0),
    ]


def test_an_event_tells_of_the_end_of_a_batch_that_a_command_brought(geneva: gd.Drive) -> None:
    failing.add("005")
    workflow = Isolated.create()
    drain()
    seen: list[tuple[Any, ...]] = []

    def note(told: gd.TelemetryEvent) -> None:
        if isinstance(told, gd.BatchChanged):
            seen.append((told.from_state, told.to_state, told.done, told.failed, told.outcome))

    stop = geneva.events.subscribe(note)
    workflow.resolve_manually("process_005", actor="ada")
    stop()
    assert seen == [("in_progress", "completed", 5, 0, "success")]
