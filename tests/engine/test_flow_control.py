"""What each verb does to the execution, the workflow and what comes next."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step
from tests.looking import error_of, history, last, waits

Act = Callable[[gd.Workflow[Any]], None]


def two_steps(act: Act) -> gd.WorkflowHandle[Any]:
    """Perform the first of two steps, whose body is `act`."""

    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            act(self)

        @gd.step
        def ship(self) -> None: ...

    workflow = Delivery.create()
    perform_next_step(workflow)
    return workflow


def test_returning_completes_the_step_and_schedules_the_next(geneva: gd.Drive) -> None:
    workflow = two_steps(lambda self: None)

    assert workflow.state == "ready"
    assert history(workflow) == [("pack", "completed", "success"), ("ship", "scheduled", None)]
    assert (workflow.previous_step_name, workflow.next_step_name) == ("pack", "ship")


def test_returning_from_the_last_step_finishes_the_workflow(geneva: gd.Drive) -> None:
    workflow = two_steps(lambda self: None)
    perform_next_step(workflow)

    assert workflow.state == "finished"
    assert history(workflow) == [("pack", "completed", "success"), ("ship", "completed", "success")]
    assert (workflow.previous_step_name, workflow.next_step_name) == ("ship", None)


def test_cancel_ends_the_execution_and_the_workflow(geneva: gd.Drive) -> None:
    workflow = two_steps(lambda self: self.cancel())

    assert workflow.state == "canceled"
    assert history(workflow) == [("pack", "canceled", "canceled_by_flow_control")]
    assert (workflow.previous_step_name, workflow.next_step_name) == (None, None)


def test_pause_holds_the_workflow_with_the_reason_it_gives(geneva: gd.Drive) -> None:
    workflow = two_steps(lambda self: self.pause(reason="no boxes left"))

    assert workflow.state == "paused"
    assert history(workflow) == [("pack", "canceled", "paused_by_flow_control")]
    assert workflow.paused_reason == "no boxes left"
    assert (workflow.paused_step_name, workflow.next_step_name) == ("pack", "pack")


def test_a_reason_that_is_no_text_is_an_error_of_the_step(geneva: gd.Drive) -> None:
    number: Any = 5
    workflow = two_steps(lambda self: self.pause(reason=number))

    assert error_of(workflow.step_executions[0]) == (
        "geneva_drive.errors.InvalidInput",
        "pause(reason=...) must be text, got 5.",
    )


def test_a_reason_that_no_database_takes_is_made_safe(geneva: gd.Drive) -> None:
    workflow = two_steps(lambda self: self.pause(reason="a NUL \x00"))

    assert workflow.paused_reason == "a NUL \N{SYMBOL FOR NULL}"
    assert history(workflow) == [("pack", "canceled", "paused_by_flow_control")]


def test_resume_runs_a_step_that_paused_again(geneva: gd.Drive) -> None:
    workflow = two_steps(lambda self: None if self.attempt > 1 else self.pause())

    workflow.resume()
    perform_next_step(workflow)

    assert history(workflow) == [
        ("pack", "canceled", "paused_by_flow_control"),
        ("pack", "completed", "success"),
        ("ship", "scheduled", None),
    ]


def test_skip_goes_on_with_the_next_step(geneva: gd.Drive) -> None:
    workflow = two_steps(lambda self: self.skip())

    assert workflow.state == "ready"
    assert history(workflow) == [
        ("pack", "skipped", "skipped_by_flow_control"),
        ("ship", "scheduled", None),
    ]
    assert (workflow.previous_step_name, workflow.next_step_name) == ("pack", "ship")


def test_skipping_the_last_step_finishes_the_workflow(geneva: gd.Drive) -> None:
    class Reminder(gd.Workflow):
        @gd.step
        def remind(self) -> None:
            self.skip()

    workflow = Reminder.create()
    perform_next_step(workflow)

    assert workflow.state == "finished"
    assert history(workflow) == [("remind", "skipped", "skipped_by_flow_control")]


def test_finish_ends_the_workflow_whatever_would_follow(geneva: gd.Drive) -> None:
    workflow = two_steps(lambda self: self.finish())

    assert workflow.state == "finished"
    assert history(workflow) == [("pack", "completed", "success")]
    assert (workflow.previous_step_name, workflow.next_step_name) == ("pack", None)


def test_reattempt_schedules_a_new_execution_of_the_step_now(geneva: gd.Drive) -> None:
    workflow = two_steps(lambda self: self.reattempt())

    assert workflow.state == "ready"
    assert history(workflow) == [("pack", "completed", "reattempted"), ("pack", "scheduled", None)]
    assert [e.attempt_number for e in workflow.step_executions] == [1, 2]
    assert waits(workflow) == [timedelta(0)]
    assert (workflow.previous_step_name, workflow.next_step_name) == (None, "pack")


@pytest.mark.parametrize("wait", [timedelta(minutes=5), 300, 300.0], ids=repr)
def test_reattempt_waits_as_long_as_it_is_told(
    geneva: gd.Drive, wait: timedelta | float | int
) -> None:
    workflow = two_steps(lambda self: self.reattempt(wait=wait))

    assert waits(workflow) == [timedelta(minutes=5)]


def test_reattempt_refuses_a_negative_wait_as_the_step_raising(geneva: gd.Drive) -> None:
    workflow = two_steps(lambda self: self.reattempt(wait=-1))

    assert last(workflow).error_message == "reattempt(wait=...): -1 is negative."
    assert workflow.state == "paused"


def test_a_verb_passes_through_the_users_own_except_exception(geneva: gd.Drive) -> None:
    def swallow(self: gd.Workflow[Any]) -> None:
        try:
            self.skip()
        except Exception:  # noqa: BLE001 - the very thing under test
            pytest.fail("a verb was caught as an Exception")

    workflow = two_steps(swallow)

    assert last(workflow).step_name == "ship"


def test_a_verb_in_an_async_body_is_flow_control(geneva: gd.Drive) -> None:
    class Poll(gd.Workflow):
        @gd.step
        async def ask(self) -> None:
            self.finish()

        @gd.step
        async def never(self) -> None: ...

    workflow = Poll.create()
    perform_next_step(workflow)

    assert workflow.state == "finished"
    assert history(workflow) == [("ask", "completed", "success")]


@pytest.mark.parametrize(
    ("verb", "row"),
    [
        ("cancel", ("pack", "canceled", "canceled_by_flow_control")),
        ("pause", ("pack", "canceled", "paused_by_flow_control")),
        ("skip", ("pack", "skipped", "skipped_by_flow_control")),
        ("finish", ("pack", "completed", "success")),
        ("reattempt", ("pack", "completed", "reattempted")),
    ],
)
@pytest.mark.parametrize(
    "place", ["cancel_if", "skip_if", "before_step_starts", "around_step", "after_step_ends"]
)
def test_a_verb_means_flow_control_in_conditions_and_hooks(
    geneva: gd.Drive, verb: str, row: tuple[str, str, str], place: str
) -> None:
    def act(self: gd.Workflow[Any], where: str) -> None:
        if where == place:
            getattr(self, verb)()

    class Delivery(gd.Workflow):
        @gd.cancel_if
        def called_off(self) -> None:
            act(self, "cancel_if")

        def needless(self) -> None:
            act(self, "skip_if")

        def before_step_starts(self, step_name: str) -> None:
            act(self, "before_step_starts")

        def around_step(self, step_name: str) -> Any:
            act(self, "around_step")
            return super().around_step(step_name)

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            act(self, "after_step_ends")

        @gd.step(skip_if="needless")
        def pack(self) -> None: ...

        @gd.step
        def ship(self) -> None: ...

    workflow = Delivery.create()
    perform_next_step(workflow)

    assert history(workflow)[0] == row


def test_a_verb_from_a_helper_thread_counts_where_the_body_raises_it_again(
    geneva: gd.Drive,
) -> None:
    def ask_a_helper(self: gd.Workflow[Any]) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(self.skip).result()

    workflow = two_steps(ask_a_helper)

    assert history(workflow)[0] == ("pack", "skipped", "skipped_by_flow_control")


def test_a_verb_that_stays_in_a_helper_thread_does_not_count(geneva: gd.Drive) -> None:
    def leave_it_there(self: gd.Workflow[Any]) -> None:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(self.cancel).exception() is not None

    workflow = two_steps(leave_it_there)

    assert history(workflow)[0] == ("pack", "completed", "success")


@pytest.mark.parametrize("verb", ["cancel", "pause", "skip", "finish", "reattempt"])
def test_a_verb_on_an_instance_that_is_not_executing_is_refused(verb: str) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        getattr(Delivery(), verb)()

    assert str(refusal.value) == (
        f"Delivery.{verb}() is flow control for a running step, and this instance is not "
        f"executing one. To {verb} a workflow from outside, use its handle."
    )


def test_an_instance_kept_beyond_its_execution_is_not_executing(geneva: gd.Drive) -> None:
    kept: list[gd.Workflow[Any]] = []
    two_steps(kept.append)

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        _ = kept[0].id

    assert str(refusal.value) == (
        "This Delivery instance is not executing a step. "
        "Outside a step, use the handle that create() or find() returns."
    )


def test_each_execution_gets_a_fresh_instance(geneva: gd.Drive) -> None:
    seen: list[bool] = []

    class Delivery(gd.Workflow):
        marked = False

        @gd.step
        def pack(self) -> None:
            self.marked = True

        @gd.step
        def ship(self) -> None:
            seen.append(self.marked)

    workflow = Delivery.create()
    perform_next_step(workflow)
    perform_next_step(workflow)

    assert seen == [False]


def test_a_step_sees_its_own_id_attempt_and_handle(geneva: gd.Drive) -> None:
    seen: list[tuple[Any, int, str | None]] = []

    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            seen.append((self.id, self.attempt, self.handle.current_step_name))
            if self.attempt == 1:
                self.reattempt()

    workflow = Delivery.create()
    perform_next_step(workflow)
    perform_next_step(workflow)

    assert seen == [(workflow.id, 1, "pack"), (workflow.id, 2, "pack")]
