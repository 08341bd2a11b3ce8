"""A branch that ends, holds or fails its workflow while others wait or run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_step_inline
from tests.looking import history
from tests.worker.watching import TIME_LIMIT, wait, wait_until

Handle = gd.WorkflowHandle[Any]


def _now(workflow: Handle) -> dict[str, tuple[str, str | None]]:
    """Where the latest attempt at each node stands."""
    return {e.step_name: (str(e.state), e.outcome) for e in workflow.step_executions}


def _while_one_runs(
    *acts: Callable[[Handle], object], other: Callable[[Any], object] | None = None
) -> Handle:
    """Do these things to a workflow while its node `long` runs, beside which `other` waits."""

    class Order(gd.Workflow):
        @gd.task
        def long(self) -> None:
            for act in acts:
                act(gd.Workflow.find(self.id))

        @gd.task
        def other(self) -> None:
            if other is not None:
                other(self)

        @gd.task(depends_on=other)
        def after_other(self) -> None: ...

        @gd.task(depends_on=long)
        def after_long(self) -> None: ...

        @gd.task(depends_on=[after_long, after_other])
        def join(self) -> None: ...

    workflow = Order.create()
    perform_step_inline(workflow, "long")
    return workflow.reload()


def _perform_other(workflow: Handle) -> None:
    perform_step_inline(workflow, "other")


def _raise(self: Any) -> None:
    raise ValueError("no such order")


@pytest.mark.parametrize(
    ("verb", "state", "outcome"),
    [
        ("cancel", "canceled", ("canceled", "canceled_by_flow_control")),
        ("finish", "finished", ("completed", "success")),
    ],
)
def test_a_branch_that_ends_the_workflow_cancels_what_is_scheduled_beside_it(
    geneva: gd.Drive, verb: str, state: str, outcome: tuple[str, str]
) -> None:
    class Order(gd.Workflow):
        @gd.task
        def ending(self) -> None:
            getattr(self, verb)()

        @gd.task
        def other(self) -> None: ...

        @gd.task(wait=3600)
        def later(self) -> None: ...

        @gd.task(depends_on=[ending, other])
        def join(self) -> None: ...

    workflow = Order.create()

    perform_step_inline(workflow, "ending")

    assert workflow.reload().state == state
    assert _now(workflow) == {
        "ending": outcome,
        "other": ("canceled", "canceled_by_flow_control"),
        "later": ("canceled", "canceled_by_flow_control"),
    }
    assert drain() == 0


@pytest.mark.parametrize(
    ("verb", "state", "outcome"),
    [
        ("cancel", "canceled", ("canceled", "canceled_by_flow_control")),
        ("finish", "finished", ("completed", "success")),
    ],
)
def test_what_runs_while_a_branch_ends_the_workflow_is_recorded_without_successors(
    geneva: gd.Drive, verb: str, state: str, outcome: tuple[str, str]
) -> None:
    seen: list[str] = []

    workflow = _while_one_runs(
        _perform_other,
        lambda w: seen.append(w.reload().state),
        other=lambda self: getattr(self, verb)(),
    )

    assert seen == [state]
    assert workflow.state == state
    assert _now(workflow) == {"long": ("completed", "success"), "other": outcome}
    assert drain() == 0


@pytest.mark.parametrize(
    ("end", "recorded"),
    [
        (_raise, ("failed", "paused_by_exception")),
        (lambda self: self.pause(), ("canceled", "paused_by_flow_control")),
        (lambda self: self.skip(), ("skipped", "skipped_by_flow_control")),
        (lambda self: self.finish(), ("completed", "success")),
        (lambda self: self.cancel(), ("canceled", "canceled_by_flow_control")),
        (lambda self: self.reattempt(), ("completed", "reattempted")),
    ],
    ids=["raise", "pause", "skip", "finish", "cancel", "reattempt"],
)
def test_however_the_last_one_ends_a_canceled_workflow_stays_canceled(
    geneva: gd.Drive, end: Callable[[Any], object], recorded: tuple[str, str]
) -> None:
    class Order(gd.Workflow):
        @gd.task
        def long(self) -> None:
            perform_step_inline(gd.Workflow.find(self.id), "other")
            end(self)

        @gd.task
        def other(self) -> None:
            self.cancel()

    workflow = Order.create()

    perform_step_inline(workflow, "long")

    assert workflow.reload().state == "canceled"
    assert _now(workflow) == {
        "long": recorded,
        "other": ("canceled", "canceled_by_flow_control"),
    }
    assert drain() == 0


def test_a_policy_of_cancel_ends_the_workflow_and_what_waits_beside(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.task(on_exception="cancel")
        def failing(self) -> None:
            raise ValueError("no such order")

        @gd.task(wait=3600)
        def later(self) -> None: ...

    workflow = Order.create()

    drain()

    assert workflow.reload().state == "canceled"
    assert _now(workflow) == {
        "failing": ("failed", "canceled_by_exception"),
        "later": ("canceled", "canceled_by_exception"),
    }


@pytest.mark.parametrize(
    ("end", "recorded", "reason"),
    [
        (_raise, ("failed", "paused_by_exception"), "builtins.ValueError: no such order"),
        (
            lambda self: self.pause(reason="ask Ann"),
            ("canceled", "paused_by_flow_control"),
            "ask Ann",
        ),
    ],
    ids=["failure", "pause"],
)
def test_a_branch_that_fails_or_pauses_holds_the_workflow_once_the_running_one_has_ended(
    geneva: gd.Drive, end: Callable[[Any], object], recorded: tuple[str, str], reason: str
) -> None:
    seen: list[Any] = []

    workflow = _while_one_runs(
        _perform_other,
        lambda w: seen.append((w.reload().state, w.requested)),
        lambda w: seen.append(drain()),
        other=end,
    )

    assert seen == [("performing", "pause"), 0]
    assert (workflow.state, workflow.requested) == ("paused", None)
    assert (workflow.paused_reason, workflow.paused_step_name) == (reason, "other")
    assert _now(workflow) == {
        "long": ("completed", "success"),
        "other": recorded,
        "after_long": ("scheduled", None),
    }
    assert drain() == 0


@pytest.mark.parametrize("verb", ["raise", "pause"])
def test_resume_runs_every_failed_or_paused_node_again_and_goes_on(
    geneva: gd.Drive, verb: str
) -> None:
    def end(self: Any) -> None:
        if self.attempt == 1:
            _raise(self) if verb == "raise" else self.pause()

    workflow = _while_one_runs(_perform_other, other=end)

    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert [row[0] for row in history(workflow)].count("long") == 1
    assert _now(workflow) == {
        "long": ("completed", "success"),
        "other": ("completed", "success"),
        "after_long": ("completed", "success"),
        "after_other": ("completed", "success"),
        "join": ("completed", "success"),
    }
    assert (workflow.paused_reason, workflow.paused_step_name) == (None, None)


def test_of_two_failures_the_first_is_told_and_resume_runs_both_again(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.task
        def first(self) -> None:
            if self.attempt == 1:
                perform_step_inline(gd.Workflow.find(self.id), "second")
                raise ValueError("the later failure")

        @gd.task
        def second(self) -> None:
            if self.attempt == 1:
                raise ValueError("the earlier failure")

        @gd.task
        def untouched(self) -> None: ...

        @gd.task(depends_on=[first, second, untouched])
        def join(self) -> None: ...

    workflow = Order.create()
    perform_step_inline(workflow, "first")
    assert workflow.reload().state == "paused"
    assert workflow.paused_reason == "builtins.ValueError: the earlier failure"
    assert workflow.paused_step_name == "second"

    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert sorted((e.step_name, e.attempt_number) for e in workflow.step_executions) == [
        ("first", 1),
        ("first", 2),
        ("join", 1),
        ("second", 1),
        ("second", 2),
        ("untouched", 1),
    ]


def test_resume_before_the_running_one_has_ended_takes_the_hold_back(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    def end(self: Any) -> None:
        if self.attempt == 1:
            raise ValueError("no such order")

    workflow = _while_one_runs(
        _perform_other,
        lambda w: w.reload().resume(),
        lambda w: seen.append((w.reload().state, w.requested)),
        other=end,
    )
    drain()

    assert seen == [("performing", None)]
    assert workflow.reload().state == "finished"
    assert [e.attempt_number for e in workflow.step_executions if e.step_name == "other"] == [1, 2]


def test_an_operators_pause_is_requested_until_the_last_running_node_has_ended(
    geneva: gd.Drive,
) -> None:
    seen: list[Any] = []

    workflow = _while_one_runs(
        _perform_other,
        lambda w: seen.append((w.reload().state, w.requested)),
        other=lambda self: gd.Workflow.find(self.id).pause(reason="stock-taking"),
    )

    assert seen == [("performing", "pause")]
    assert (workflow.state, workflow.requested) == ("paused", None)
    assert workflow.paused_reason == "stock-taking"
    assert _now(workflow) == {
        "long": ("completed", "success"),
        "other": ("completed", "success"),
        "after_other": ("scheduled", None),
        "after_long": ("scheduled", None),
    }
    workflow.resume()
    drain()
    assert workflow.reload().state == "finished"


def test_an_operators_cancel_is_requested_until_the_last_running_node_has_ended(
    geneva: gd.Drive,
) -> None:
    seen: list[Any] = []

    workflow = _while_one_runs(
        _perform_other,
        lambda w: seen.append((w.reload().state, w.requested)),
        other=lambda self: gd.Workflow.find(self.id).cancel(),
    )

    assert seen == [("performing", "cancel")]
    assert (workflow.state, workflow.requested) == ("canceled", None)
    assert _now(workflow) == {
        "long": ("completed", "success"),
        "other": ("completed", "success"),
        "after_other": ("canceled", "canceled_by_operator"),
        "after_long": ("canceled", "canceled_by_operator"),
    }


def test_a_forced_cancel_fences_off_every_running_node(geneva: gd.Drive) -> None:
    both_inside, go_on = threading.Barrier(3, timeout=TIME_LIMIT), threading.Event()
    late: list[str] = []

    class Order(gd.Workflow):
        @gd.task
        def left(self) -> None:
            both_inside.wait()
            wait(go_on)
            late.append("left")

        @gd.task
        def right(self) -> None:
            both_inside.wait()
            wait(go_on)
            late.append("right")

        @gd.task(depends_on=[left, right])
        def join(self) -> None: ...

    workflow = Order.create()

    with geneva.worker(concurrency=2):
        both_inside.wait()
        workflow.cancel(force=True, actor="ann")
        assert workflow.state == "canceled"
        go_on.set()
        wait_until(lambda: len(late) == 2, "both bodies have ended")

    assert workflow.reload().state == "canceled"
    assert _now(workflow) == {
        "left": ("canceled", "canceled_by_operator"),
        "right": ("canceled", "canceled_by_operator"),
    }


def test_a_pause_during_the_last_nodes_lets_the_workflow_finish(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.task
        def long(self) -> None:
            perform_step_inline(gd.Workflow.find(self.id), "other")

        @gd.task
        def other(self) -> None:
            gd.Workflow.find(self.id).pause()

    workflow = Order.create()

    perform_step_inline(workflow, "long")

    assert (workflow.reload().state, workflow.requested) == ("finished", None)
