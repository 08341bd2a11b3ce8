"""Maps: one execution per item of a list that only run time knows."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step
from tests.looking import error_of, pending_dead_letters

pytestmark = pytest.mark.usefixtures("geneva")

ran: list[Any] = []
failing: set[Any] = set()


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()
    failing.clear()


def _square(item: int) -> int:
    ran.append(item)
    if item in failing:
        raise ValueError(f"no {item}")
    return item * item


class Plan(gd.Workflow):
    type_name = "test_maps.Plan"

    @gd.step(keep_result=True)
    def plan(self) -> list[int]:
        return self.context["items"]  # type: ignore[no-any-return]

    @gd.map(plan, parallelism=2)
    def call_tool(self, item: int) -> int:
        return _square(item)

    @gd.step(keep_result=True)
    def total(self) -> list[int | None]:
        return self.results_of(self.call_tool)


def _perform(workflow: gd.WorkflowHandle[Any], steps: int) -> None:
    for _ in range(steps):
        perform_next_step(workflow)


def _states(workflow: gd.WorkflowHandle[Any]) -> dict[str, str]:
    return {e.node_id: str(e.state) for e in workflow.step_executions}


def test_the_body_runs_once_per_item_and_results_come_in_the_order_of_the_items() -> None:
    workflow = Plan.create(context={"items": [3, 1, 2]})

    drain()

    assert workflow.reload().state == "finished"
    assert workflow.result == [9, 1, 4]
    assert ran == [3, 1, 2]
    assert list(_states(workflow)) == [
        "plan",
        "call_tool",
        "call_tool_001",
        "call_tool_002",
        "call_tool_003",
        "total",
    ]
    assert workflow.verify_ancestry() == []


def test_no_more_items_than_parallelism_are_scheduled_at_once() -> None:
    workflow = Plan.create(context={"items": [1, 2, 3, 4]})
    _perform(workflow, 2)  # the plan, and the map itself
    assert [_states(workflow)[f"call_tool_00{n}"] for n in (1, 2, 3, 4)] == [
        "scheduled",
        "scheduled",
        "pending",
        "pending",
    ]
    _perform(workflow, 1)
    assert [_states(workflow)[f"call_tool_00{n}"] for n in (1, 2, 3, 4)] == [
        "completed",
        "scheduled",
        "scheduled",
        "pending",
    ]


def test_a_map_without_items_is_done_at_once() -> None:
    workflow = Plan.create(context={"items": []})
    drain()
    assert (workflow.reload().state, workflow.result) == ("finished", [])
    assert ran == []


def test_a_failed_item_pauses_the_workflow_and_a_resume_runs_only_that_one_again() -> None:
    failing.add(2)
    workflow = Plan.create(context={"items": [1, 2, 3, 4, 5]})
    drain()

    assert workflow.reload().state == "paused"
    assert workflow.paused_step_name == "call_tool_002"
    assert "no 2" in (workflow.paused_reason or "")
    assert ran == [1, 2]

    failing.clear()
    workflow.resume()
    drain()
    assert (workflow.reload().state, workflow.result) == ("finished", [1, 4, 9, 16, 25])
    assert sorted(ran) == [1, 2, 2, 3, 4, 5]
    assert workflow.verify_ancestry() == []


class Tolerant(gd.Workflow):
    type_name = "test_maps.Tolerant"

    @gd.map(lambda self: range(10), tolerate=gd.Tolerate(workers=2))
    def call_tool(self, item: int) -> int:
        return _square(item)

    @gd.step(keep_result=True)
    def total(self) -> list[int | None]:
        return self.results_of(self.call_tool)


def test_tolerated_items_are_missing_from_the_results_and_need_no_operator(
    geneva: gd.Drive,
) -> None:
    failing.update({3, 7})
    workflow = Tolerant.create()
    drain()
    assert workflow.reload().state == "finished"
    assert workflow.result == [0, 1, 4, None, 16, 25, 36, None, 64, 81]
    assert pending_dead_letters(geneva) == []


def test_one_failure_more_than_is_tolerated_pauses_the_workflow() -> None:
    failing.update({3, 5, 7})
    workflow = Tolerant.create()
    drain()
    assert workflow.reload().state == "paused"
    failing.clear()
    workflow.resume()
    drain()
    # All of them were too many: a resume tries each again.
    assert workflow.reload().result == [n * n for n in range(10)]


@pytest.mark.parametrize(
    ("strategy", "seen"),
    [("continue_on_failure", "finished"), ("isolate", "paused"), ("fail_fast", "paused")],
)
def test_each_strategy_does_what_it_says(strategy: Any, seen: str) -> None:
    class Fan(gd.Workflow):
        type_name = "test_maps.Fan"

        @gd.map(lambda self: [1, 2, 3, 4], parallelism=1, failure_strategy=strategy)
        def call_tool(self, item: int) -> int:
            return _square(item)

        @gd.step(keep_result=True)
        def total(self) -> list[int | None]:
            return self.results_of(self.call_tool)

    failing.add(2)
    workflow = Fan.create()
    drain()
    assert workflow.reload().state == seen
    assert ran == ([1, 2] if strategy == "fail_fast" else [1, 2, 3, 4])
    if seen == "finished":
        assert workflow.result == [1, None, 9, 16]
        return
    failing.clear()
    workflow.resume()
    drain()
    assert workflow.reload().result == [1, 4, 9, 16]
    assert ran.count(2) == 2


def test_the_items_may_come_from_a_method_and_a_retry_is_an_items_own() -> None:
    class Method(gd.Workflow):
        type_name = "test_maps.Method"

        def words(self) -> tuple[str, ...]:
            return "a", "b"

        @gd.map("words", retry=gd.Retry(max=1, backoff=0))
        def spell(self, item: str) -> str:
            ran.append(item)
            if ran.count(item) == 1:
                raise OSError(item)
            return item * 2

    workflow = Method.create()
    drain()
    assert workflow.reload().state == "finished"
    assert workflow.result == ["aa", "bb"]
    assert sorted(ran) == ["a", "a", "b", "b"]


@pytest.mark.parametrize("items", ["text", {"a": 1}, 7, None])
def test_items_that_are_no_list_fail_the_map_and_nothing_is_created(items: Any) -> None:
    class Wrong(gd.Workflow):
        type_name = "test_maps.Wrong"

        @gd.map(lambda self: self.context["items"])
        def call_tool(self, item: Any) -> None: ...

    workflow = Wrong.create(context={"items": items})
    drain()
    assert workflow.reload().state == "paused"
    [execution] = workflow.step_executions
    assert error_of(execution)[0] == "geneva_drive.errors.InvalidInput"
    assert "The items of map 'call_tool' must be a list, got" in (execution.error_message or "")


@pytest.mark.parametrize("point", ["claim", "body", "commit"])
def test_a_crash_anywhere_records_each_item_once(point: Any) -> None:
    for done in range(5):
        workflow = Plan.create(context={"items": [1, 2, 3]})
        _perform(workflow, done)
        with crash_after(point):
            drain()
        drain()
        assert workflow.reload().result == [1, 4, 9]
        completed = [e.node_id for e in workflow.step_executions if e.outcome == "success"]
        assert sorted(completed) == sorted(set(completed))
        assert len(completed) == 6


class Call(gd.Workflow):
    type_name = "test_maps.Call"

    @gd.step(keep_result=True)
    def work(self) -> int:
        return _square(self.context["item"])


class Family(gd.Workflow):
    type_name = "test_maps.Family"

    calls = gd.map(
        lambda self: [1, 2, 3],
        workflow=Call,
        context=lambda self, item: {"item": item},
        parallelism=2,
    )

    @gd.step(keep_result=True)
    def total(self) -> list[int]:
        return self.results_of("calls")


@pytest.mark.parametrize("point", [None, "body", "commit"])
def test_each_item_starts_one_child_whatever_crashes(point: Any) -> None:
    for done in range(1 if point is None else 4):
        workflow = Family.create()
        _perform(workflow, done)
        if point is not None:
            with crash_after(point):
                drain()
        drain()
        assert (workflow.reload().state, workflow.result) == ("finished", [1, 4, 9])
        assert Call.finished().count() == 3 * (done + 1)
        assert Call.ongoing().count() == 0


def test_a_canceled_child_fails_its_item() -> None:
    workflow = Family.create()
    _perform(workflow, 2)  # the map, and the first child's start
    Call.ongoing().all()[0].cancel()
    drain()
    assert workflow.reload().state == "paused"
    assert "ChildCanceled" in (workflow.paused_reason or "")


def test_a_cancel_cancels_the_items_that_have_not_begun() -> None:
    workflow = Plan.create(context={"items": [1, 2, 3, 4]})
    _perform(workflow, 3)
    workflow.cancel()
    assert set(_states(workflow).values()) == {"completed", "canceled"}
    assert _states(workflow)["call_tool_004"] == "canceled"


def test_a_pause_holds_the_items_and_none_begins_until_the_resume() -> None:
    workflow = Plan.create(context={"items": [1, 2, 3, 4]})
    _perform(workflow, 3)
    workflow.pause()
    drain()
    assert ran == [1]
    workflow.resume()
    drain()
    assert workflow.reload().result == [1, 4, 9, 16]


def test_an_item_can_be_completed_reset_or_skipped_by_hand() -> None:
    failing.update({2, 3, 4})
    workflow = Plan.create(context={"items": [1, 2, 3, 4]})
    drain()
    workflow.complete_manually("call_tool_002", result=40, actor="ann")
    drain()
    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "call_tool_003")
    failing.discard(3)
    workflow.reset_for_retry("call_tool_003", actor="ann")
    drain()
    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "call_tool_004")
    workflow.skip("call_tool_004")
    drain()
    assert (workflow.reload().state, workflow.result) == ("finished", [1, 40, 9, None])


def test_a_whole_map_cannot_be_reset_and_the_error_names_its_items() -> None:
    failing.add(2)
    workflow = Plan.create(context={"items": [1, 2]})
    drain()
    with pytest.raises(gd.errors.InvalidStateError, match="call_tool_001"):
        workflow.reset_for_retry("call_tool", actor="ann")
