"""What a step that raises comes to, by the action of its policy."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step, speedrun
from tests.looking import error_of, history, last, pending_dead_letters


class TornBox(Exception):
    """What goes wrong in these tests."""


def failing(**options: Any) -> gd.WorkflowHandle[Any]:
    """Perform the first of two steps, which raises."""

    class Delivery(gd.Workflow):
        @gd.step(**options)
        def pack(self) -> None:
            raise TornBox("the box is torn")

        @gd.step
        def ship(self) -> None: ...

    workflow = Delivery.create()
    perform_next_step(workflow)
    return workflow


def test_without_a_policy_the_workflow_pauses(geneva: gd.Drive) -> None:
    workflow = failing()

    assert workflow.state == "paused"
    assert history(workflow) == [("pack", "failed", "paused_by_exception")]
    assert workflow.paused_reason == "tests.engine.test_exceptions.TornBox: the box is torn"
    assert (workflow.paused_step_name, workflow.next_step_name) == ("pack", "pack")


def test_pause_holds_the_workflow_at_the_failed_step(geneva: gd.Drive) -> None:
    workflow = failing(on_exception="pause")

    assert workflow.state == "paused"
    assert history(workflow) == [("pack", "failed", "paused_by_exception")]
    assert workflow.next_step_name == "pack"


def test_cancel_ends_the_workflow(geneva: gd.Drive) -> None:
    workflow = failing(on_exception="cancel")

    assert workflow.state == "canceled"
    assert history(workflow) == [("pack", "failed", "canceled_by_exception")]
    assert workflow.next_step_name is None


def test_skip_goes_on_with_the_next_step(geneva: gd.Drive) -> None:
    workflow = failing(on_exception="skip")

    assert workflow.state == "ready"
    assert history(workflow) == [
        ("pack", "skipped", "skipped_by_exception"),
        ("ship", "scheduled", None),
    ]
    assert workflow.next_step_name == "ship"


def test_reattempt_schedules_a_new_execution_of_the_step(geneva: gd.Drive) -> None:
    workflow = failing(on_exception="reattempt")

    assert workflow.state == "ready"
    assert history(workflow) == [
        ("pack", "failed", "reattempted_by_exception"),
        ("pack", "scheduled", None),
    ]
    assert workflow.next_step_name == "pack"


@pytest.mark.parametrize("action", ["pause", "cancel", "skip", "reattempt"])
def test_the_error_is_stored_whatever_the_action(geneva: gd.Drive, action: str) -> None:
    execution = failing(on_exception=action).step_executions[0]

    assert error_of(execution) == ("tests.engine.test_exceptions.TornBox", "the box is torn")
    assert execution.error_backtrace is not None
    assert 'raise TornBox("the box is torn")' in execution.error_backtrace


@pytest.mark.parametrize("verb", ["pause", "cancel", "skip", "finish", "reattempt"])
def test_the_error_is_stored_when_a_handler_answers_with_a_verb(
    geneva: gd.Drive, verb: str
) -> None:
    execution = failing(on_exception=lambda self, error: getattr(self, verb)()).step_executions[0]

    assert error_of(execution) == ("tests.engine.test_exceptions.TornBox", "the box is torn")


def test_the_error_is_stored_when_the_after_hook_answers_with_a_verb(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            raise TornBox("the box is torn")

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            self.cancel()

    workflow = speedrun(Delivery.create())

    assert history(workflow) == [("pack", "canceled", "canceled_by_flow_control")]
    assert error_of(last(workflow)) == ("tests.engine.test_exceptions.TornBox", "the box is torn")


def test_the_cause_of_an_error_is_in_its_backtrace(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            raise TornBox("no label") from KeyError("label")

    workflow = speedrun(Delivery.create())

    backtrace = last(workflow).error_backtrace
    assert backtrace is not None
    assert "KeyError: 'label'" in backtrace
    assert backtrace.endswith("tests.engine.test_exceptions.TornBox: no label\n")


def test_an_error_that_cannot_be_put_into_words_still_ends_the_step(geneva: gd.Drive) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            raise Mute

    workflow = speedrun(Delivery.create())

    assert workflow.state == "paused"
    assert last(workflow).error_message == "<Mute that cannot be put into words>"


def test_text_that_no_database_takes_is_made_safe(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            raise TornBox("a NUL \x00 and half a pair \ud800")

    workflow = speedrun(Delivery.create())

    assert last(workflow).error_message == "a NUL \N{SYMBOL FOR NULL} and half a pair ?"


def test_a_long_message_keeps_its_beginning_and_a_long_backtrace_its_end(
    geneva: gd.Drive,
) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            raise TornBox("begin " + "x" * 200_000 + " end")

    workflow = speedrun(Delivery.create())

    execution = last(workflow)
    assert execution.error_message is not None
    assert execution.error_backtrace is not None
    assert (execution.error_message[:7], len(execution.error_message)) == ("begin x", 100_000)
    assert (execution.error_backtrace[-6:], len(execution.error_backtrace)) == ("x end\n", 100_000)


def test_an_error_that_is_no_exception_is_a_failure_all_the_same(geneva: gd.Drive) -> None:
    class Alarm(BaseException):
        """Not an Exception, and not ours either."""

    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            raise Alarm("fire")

    workflow = speedrun(Delivery.create())

    assert history(workflow) == [("pack", "failed", "paused_by_exception")]
    assert last(workflow).error_message == "fire"


def test_an_async_body_that_raises_is_a_failed_step(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        async def pack(self) -> None:
            raise TornBox("the box is torn")

    workflow = speedrun(Delivery.create())

    assert history(workflow) == [("pack", "failed", "paused_by_exception")]
    assert error_of(last(workflow)) == ("tests.engine.test_exceptions.TornBox", "the box is torn")


def test_a_lost_worker_costs_the_execution_and_the_step_is_scheduled_again(
    geneva: gd.Drive,
) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    workflow = Delivery.create()
    with crash_after("claim"):
        drain(geneva)
    geneva.housekeep()

    assert workflow.reload().state == "ready"
    assert history(workflow) == [("pack", "failed", "recovered"), ("pack", "scheduled", None)]


def test_after_max_recoveries_the_workflow_pauses_with_a_dead_letter(geneva: gd.Drive) -> None:
    runs: list[int] = []

    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            runs.append(self.attempt)

    workflow = Delivery.create()
    for _ in range(4):
        with crash_after("body"):
            drain(geneva)
    drain(geneva)

    # The default is 3 recoveries.
    assert runs == [1, 2, 3, 4]
    assert workflow.reload().state == "paused"
    assert history(workflow) == [("pack", "failed", "recovered")] * 4
    assert pending_dead_letters(geneva) == ["worker_unavailable"]


def test_an_operators_resume_forgives_earlier_recoveries(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    workflow = Delivery.create()
    for _ in range(4):
        with crash_after("body"):
            drain(geneva)
    geneva.housekeep()
    workflow.resume()
    with crash_after("body"):
        drain(geneva)
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert pending_dead_letters(geneva) == ["worker_unavailable"]
