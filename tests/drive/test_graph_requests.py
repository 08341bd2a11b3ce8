"""Commands on the nodes of a graph while others run and something was asked for already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_step_inline

Handle = gd.WorkflowHandle[Any]


def _while_long_runs(*acts: Callable[[Handle], object]) -> Handle:
    """Do these things while `long` runs, beside which `later` waits and `broken` would fail."""

    class Order(gd.Workflow):
        @gd.task
        def long(self) -> None:
            for act in acts:
                act(gd.Workflow.find(self.id))

        @gd.task(wait=3600)
        def later(self) -> None: ...

        @gd.task(wait=3600)
        def broken(self) -> None:
            if self.attempt == 1:
                raise ValueError("broken")

        @gd.task(wait=3600)
        def also_broken(self) -> None:
            if self.attempt == 1:
                raise ValueError("also broken")

        @gd.task(depends_on=[long, later, broken, also_broken])
        def join(self) -> None: ...

    workflow = Order.create()
    perform_step_inline(workflow, "long")
    return workflow.reload()


def _perform(name: str) -> Callable[[Handle], object]:
    return lambda workflow: perform_step_inline(workflow, name)


def test_skipping_beside_leaves_a_requested_pause_in_place(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    workflow = _while_long_runs(
        lambda w: w.pause(reason="stock-taking"),
        lambda w: w.skip("later"),
        lambda w: seen.append(w.requested),
    )

    assert seen == ["pause"]
    assert (workflow.state, workflow.paused_reason) == ("paused", "stock-taking")
    assert workflow.has_passed("later")


@pytest.mark.parametrize("command", ["skip", "reattempt"])
def test_no_node_is_commanded_once_a_cancel_was_asked_for(geneva: gd.Drive, command: str) -> None:
    said: list[str] = []

    def act(workflow: Handle) -> None:
        with pytest.raises(gd.errors.InvalidStateError) as refusal:
            getattr(workflow, command)("broken")
        said.append(str(refusal.value))

    workflow = _while_long_runs(_perform("broken"), lambda w: w.cancel(), act)

    assert said == [
        f"Cannot {command} a node of this workflow: it will be canceled as soon as the running "
        f"nodes have ended."
    ]
    assert workflow.state == "canceled"


def test_skipping_one_of_two_failed_nodes_while_another_runs_still_holds_the_workflow(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        @gd.task
        def long(self) -> None:
            perform_step_inline(gd.Workflow.find(self.id), "broken")
            gd.Workflow.find(self.id).skip("broken")

        @gd.task
        def broken(self) -> None:
            perform_step_inline(gd.Workflow.find(self.id), "also_broken")
            raise ValueError("broken")

        @gd.task
        def also_broken(self) -> None:
            if self.attempt == 1:
                raise ValueError("also broken")

        @gd.task(depends_on=[long, broken, also_broken])
        def join(self) -> None: ...

    workflow = Order.create()

    perform_step_inline(workflow, "long")

    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "also_broken")
    assert workflow.paused_reason == "builtins.ValueError: also broken"
    workflow.resume()
    drain()
    assert workflow.reload().state == "finished"


def test_skipping_the_only_failed_node_while_another_runs_takes_the_hold_back(
    geneva: gd.Drive,
) -> None:
    seen: list[Any] = []

    workflow = _while_long_runs(
        _perform("broken"),
        lambda w: seen.append(w.reload().requested),
        lambda w: w.skip("broken"),
        lambda w: seen.append(w.reload().requested),
    )

    assert seen == ["pause", None]
    assert workflow.state == "ready"
    assert workflow.has_passed("broken")


def test_reattempting_the_only_failed_node_while_another_runs_takes_the_hold_back(
    geneva: gd.Drive,
) -> None:
    seen: list[Any] = []

    workflow = _while_long_runs(
        _perform("broken"),
        lambda w: w.reattempt("broken"),
        lambda w: seen.append(w.reload().requested),
        _perform("broken"),
    )

    assert seen == [None]
    assert workflow.state == "ready"
    assert workflow.has_passed("broken")


def test_a_pause_asked_for_twice_is_one(geneva: gd.Drive) -> None:
    workflow = _while_long_runs(
        lambda w: w.pause(reason="first"), lambda w: w.pause(reason="second")
    )

    assert (workflow.state, workflow.paused_reason) == ("paused", "first")


def test_a_cancel_replaces_the_hold_of_a_failure(geneva: gd.Drive) -> None:
    workflow = _while_long_runs(_perform("broken"), lambda w: w.cancel(reason="give up"))

    assert workflow.state == "canceled"
    assert {e.step_name: e.outcome for e in workflow.step_executions} == {
        "long": "success",
        "later": "canceled_by_operator",
        "broken": "paused_by_exception",
        "also_broken": "canceled_by_operator",
    }


def test_a_forced_cancel_drops_what_the_running_body_brings(geneva: gd.Drive) -> None:
    workflow = _while_long_runs(lambda w: w.cancel(force=True))

    assert workflow.state == "canceled"
    assert {e.outcome for e in workflow.step_executions} == {"canceled_by_operator"}


def test_a_pause_replaces_the_hold_that_waits_for_a_reattempted_node(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.task
        def broken(self) -> None:
            perform_step_inline(gd.Workflow.find(self.id), "also_broken")
            raise ValueError("broken")

        @gd.task
        def also_broken(self) -> None:
            raise ValueError("also broken")

    workflow = Order.create()
    perform_step_inline(workflow, "broken")
    workflow.reattempt("broken")

    workflow.pause(reason="stock-taking")

    assert (workflow.state, workflow.paused_reason) == ("paused", "stock-taking")
    assert workflow.requested is None
