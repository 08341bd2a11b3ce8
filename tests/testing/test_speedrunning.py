"""Running a whole workflow in a test."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import (
    perform_next_step,
    perform_step_inline,
    run_iterations,
    speedrun,
    speedrun_resumable_step,
)
from tests.looking import history


class Delivery(gd.Workflow[Any]):
    type_name = "test_speedrunning.Delivery"

    @gd.step
    def pack(self) -> None: ...

    @gd.step(wait=timedelta(days=2))
    def ship(self) -> None:
        if self.context.get("lost"):
            raise ValueError("lost")

    @gd.step
    def bill(self) -> None: ...


def test_a_speedrun_runs_to_the_end_ignoring_waits(geneva: gd.Drive) -> None:
    workflow = Delivery.create()

    assert speedrun(workflow) is workflow
    assert workflow.state == "finished"
    assert [row[0] for row in history(workflow)] == ["pack", "ship", "bill"]


def test_a_speedrun_stops_at_a_pause_and_raises_no_error_of_the_step(geneva: gd.Drive) -> None:
    workflow = speedrun(Delivery.create(context={"lost": True}))

    assert workflow.state == "paused"
    assert workflow.next_step_name == "ship"


def test_a_speedrun_of_a_paused_workflow_runs_nothing(geneva: gd.Drive) -> None:
    workflow = speedrun(Delivery.create().pause())

    assert workflow.state == "paused"
    assert history(workflow) == [("pack", "scheduled", None)]


def test_a_speedrun_looks_again_between_steps(geneva: gd.Drive) -> None:
    class Held(gd.Workflow):
        @gd.step
        def hold(self) -> None:
            gd.Workflow.find(self.id).pause()

        @gd.step
        def never(self) -> None: ...

    assert speedrun(Held.create()).state == "paused"


def test_a_speedrun_past_its_maximum_is_an_assertion_error(geneva: gd.Drive) -> None:
    class Endless(gd.Workflow):
        @gd.step
        def again(self) -> None:
            self.reattempt()

    workflow = Endless.create()
    with pytest.raises(AssertionError) as failure:
        speedrun(workflow, max_steps=5)

    assert str(failure.value) == (
        f"<Endless workflow {workflow.id}: ready> has not ended after 5 steps; it is at 'again'. "
        f"Raise max_steps, or look for an endless reattempt."
    )
    assert len(workflow.step_executions) == 6


def test_a_speedrun_of_exactly_its_maximum_is_fine(geneva: gd.Drive) -> None:
    assert speedrun(Delivery.create(), max_steps=3).state == "finished"


def test_a_speedrun_uses_the_drive_of_its_workflow(geneva: gd.Drive) -> None:
    other = gd.Drive(geneva.engine)
    gd.configure("sqlite:///never_opened.db")

    assert speedrun(Delivery.using(other).create()).state == "finished"


def test_performing_the_next_step_returns_its_execution(geneva: gd.Drive) -> None:
    workflow = Delivery.create()

    execution = perform_next_step(workflow)

    assert execution is not None
    assert (execution.step_name, execution.state, execution.outcome) == (
        "pack",
        "completed",
        "success",
    )
    assert workflow.next_step_name == "ship"


def test_performing_the_next_step_runs_one_step_whatever_its_schedule(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    perform_next_step(workflow)

    execution = perform_next_step(workflow)

    assert execution is not None
    assert execution.step_name == "ship"
    assert workflow.next_step_name == "bill"


@pytest.mark.parametrize(
    ("command", "state"), [("pause", "paused"), ("cancel", "canceled")], ids=["paused", "canceled"]
)
def test_where_nothing_can_be_performed_there_is_none(
    geneva: gd.Drive, command: str, state: str
) -> None:
    workflow = Delivery.create()
    getattr(workflow, command)()

    assert perform_next_step(workflow) is None
    assert workflow.state == state


def test_an_error_of_the_step_is_recorded_and_not_raised(geneva: gd.Drive) -> None:
    class Torn(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            raise ValueError("torn")

    execution = perform_next_step(Torn.create())

    assert execution is not None
    assert (execution.state, execution.error_message) == ("failed", "torn")


@pytest.mark.parametrize(
    "step", [None, "pack", Delivery.pack], ids=["none named", "by name", "by method"]
)
def test_a_step_is_performed_inline(geneva: gd.Drive, step: Any) -> None:
    workflow = Delivery.create()

    execution = perform_step_inline(workflow, step)

    assert (execution.step_name, execution.state) == ("pack", "completed")


def test_a_step_that_is_not_next_is_not_performed(geneva: gd.Drive) -> None:
    workflow = Delivery.create()

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        perform_step_inline(workflow, "bill")

    assert str(refusal.value) == (
        f"<test_speedrunning.Delivery workflow {workflow.id}: ready> is at step 'pack', not "
        f"at 'bill'."
    )


def test_a_held_step_is_not_performed(geneva: gd.Drive) -> None:
    workflow = Delivery.create().pause()

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        perform_step_inline(workflow)

    assert str(refusal.value) == (
        f"<test_speedrunning.Delivery workflow {workflow.id}: paused> is paused, so its step "
        f"cannot be performed."
    )


def test_a_workflow_that_has_ended_has_no_step_to_perform(geneva: gd.Drive) -> None:
    workflow = Delivery.create().cancel()

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        perform_step_inline(workflow)

    assert str(refusal.value) == (
        f"<test_speedrunning.Delivery workflow {workflow.id}: canceled> has no scheduled step to "
        f"perform."
    )


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (speedrun, "speedrun"),
        (perform_next_step, "perform_next_step"),
        (perform_step_inline, "perform_step_inline"),
        (lambda given: speedrun_resumable_step(given, "pack"), "speedrun_resumable_step"),
        (lambda given: run_iterations(given, "pack", count=1), "run_iterations"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("given", [5, Delivery], ids=["number", "class"])
def test_what_is_no_handle_is_refused(run: Callable[[Any], object], name: str, given: Any) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        run(given)

    assert str(refusal.value) == (
        f"{name}() needs a workflow handle, as create() and find() return it, got {given!r}."
    )
