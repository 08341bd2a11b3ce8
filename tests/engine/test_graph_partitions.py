"""Loops and their shares beside other nodes: what becomes of them when those fail or end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_step_inline, run_iterations
from tests.looking import history

Handle = gd.WorkflowHandle[Any]


def _nodes(workflow: Handle) -> dict[str, tuple[int, str, str | None]]:
    """The latest attempt at each node or share."""
    return {e.node_id: (e.attempt_number, e.state, e.outcome) for e in workflow.step_executions}


def _held_by_a_share(done: list[int]) -> Handle:
    class Import(gd.Workflow):
        type_name = "SharedImport"

        @gd.resumable_step(partitions=2)
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(4)):
                if number == 1 and not done.count(1) and self.attempt == 1:
                    raise ValueError("no such row")
                done.append(number)

        @gd.task
        def other(self) -> None: ...

        @gd.task(depends_on=[rows, other])
        def close(self) -> None: ...

    workflow = Import.create()
    drain()
    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "rows")
    return workflow


@pytest.mark.parametrize(
    "command",
    [
        lambda w: w.resume(),
        lambda w: w.reattempt("rows"),
        lambda w: w.reattempt("rows", rewind=True),
        lambda w: w.rewind("rows").resume(),
    ],
    ids=["resume", "reattempt", "reattempt from the start", "rewind and resume"],
)
def test_whatever_lets_a_divided_node_go_on_loses_no_share(
    geneva: gd.Drive, command: Callable[[Handle], object]
) -> None:
    done: list[int] = []
    workflow = _held_by_a_share(done)

    command(workflow)
    drain()

    assert workflow.reload().state == "finished"
    assert set(done) == {0, 1, 2, 3}
    assert _nodes(workflow)["close"] == (1, "completed", "success")
    assert workflow.verify_ancestry() == []


def test_skipping_a_divided_node_passes_over_all_of_its_shares(geneva: gd.Drive) -> None:
    workflow = _held_by_a_share([])

    workflow.skip("rows")
    drain()

    assert workflow.reload().state == "finished"
    assert _nodes(workflow) == {
        "rows": (1, "completed", "success"),
        "other": (1, "completed", "success"),
        "rows[1]": (2, "skipped", "skipped_by_operator"),
        "rows[2]": (1, "skipped", "skipped_by_operator"),
        "close": (1, "completed", "success"),
    }


def test_a_loop_that_was_interrupted_is_held_by_a_failure_beside_it(geneva: gd.Drive) -> None:
    seen: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            seen.extend(it.iterate_over(range(4)))

        @gd.task
        def other(self) -> None:
            if self.attempt == 1:
                raise ValueError("broken")

        @gd.task(depends_on=[rows, other])
        def close(self) -> None: ...

    workflow = Import.create()
    run_iterations(workflow, "rows", count=2)
    perform_step_inline(workflow, "other")
    assert workflow.reload().state == "paused"
    assert (drain(), seen) == (0, [0, 1])

    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert seen == [0, 1, 2, 3]
    assert [e.step_name for e in workflow.step_executions].count("rows") == 1


@pytest.mark.parametrize("verb", ["finish", "cancel"])
def test_a_loop_that_runs_while_a_sibling_ends_the_workflow_stops_at_its_checkpoint(
    geneva: gd.Drive, verb: str
) -> None:
    seen: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(4)):
                seen.append(number)
                perform_step_inline(gd.Workflow.find(self.id), "other")

        @gd.task
        def other(self) -> None:
            getattr(self, verb)()

    workflow = Import.create()

    perform_step_inline(workflow, "rows")

    assert workflow.reload().state == ("finished" if verb == "finish" else "canceled")
    assert seen == [0]
    assert history(workflow)[0] == ("rows", "canceled", "canceled_by_flow_control")


def test_a_pause_stops_a_loop_and_waits_for_the_node_beside_it(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    class Import(gd.Workflow):
        @gd.task
        def long(self) -> None:
            perform_step_inline(gd.Workflow.find(self.id), "rows")
            handle = gd.Workflow.find(self.id)
            seen.append((handle.state, handle.requested))

        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(3)):
                seen.append(number)
                gd.Workflow.find(self.id).pause(reason="stock-taking")

        @gd.task(depends_on=[long, rows])
        def close(self) -> None: ...

    workflow = Import.create()

    perform_step_inline(workflow, "long")

    assert seen == [0, ("performing", "pause")]
    assert (workflow.reload().state, workflow.paused_reason) == ("paused", "stock-taking")
    assert history(workflow) == [("long", "completed", "success"), ("rows", "suspended", None)]


def test_a_node_that_backs_off_keeps_its_time_while_the_workflow_is_held(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        @gd.task(on_exception="reattempt")
        def retried(self) -> None:
            if self.attempt == 1:
                perform_step_inline(gd.Workflow.find(self.id), "broken")
                raise gd.RetryableError("busy", retry_after=3600)

        @gd.task
        def broken(self) -> None:
            if self.attempt == 1:
                raise ValueError("broken")

    workflow = Order.create()
    perform_step_inline(workflow, "retried")
    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "broken")
    [before] = [e.scheduled_for for e in workflow.current_executions]

    workflow.resume()
    drain()

    assert workflow.reload().state == "ready"
    assert [e.scheduled_for for e in workflow.current_executions] == [before]
    assert _nodes(workflow) == {
        "retried": (2, "scheduled", None),
        "broken": (2, "completed", "success"),
    }
