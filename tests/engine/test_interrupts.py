"""An interrupt of the process is no failure of the step: its execution is given back."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, speedrun
from tests.looking import error_of, history, pending_dead_letters

GIVEN_BACK = [("pack", "failed", "recovered"), ("pack", "scheduled", None)]

PLACES = [
    "cancel_if",
    "skip_if",
    "before_step_starts",
    "body",
    "after_step_ends",
    "handler",
]


def interrupted(interrupt: type[BaseException], place: str) -> gd.WorkflowHandle[Any]:
    """Perform a step that is interrupted at one place."""

    def act(where: str) -> None:
        if where == place:
            raise interrupt

    def handler(self: gd.Workflow[Any], error: BaseException) -> None:
        act("handler")

    class Delivery(gd.Workflow):
        @gd.cancel_if
        def called_off(self) -> None:
            act("cancel_if")

        def needless(self) -> None:
            act("skip_if")

        def before_step_starts(self, step_name: str) -> None:
            act("before_step_starts")

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            act("after_step_ends")

        @gd.step(skip_if="needless", on_exception=handler)
        def pack(self) -> None:
            act("body")
            if place == "handler":
                raise ValueError("torn")

    workflow = Delivery.create()
    # The process that was interrupted goes on to tell it.
    with suppress(KeyboardInterrupt):
        perform_next_step(workflow)
    return workflow.reload()


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("place", PLACES)
def test_an_interrupted_execution_is_given_back(
    geneva: gd.Drive, interrupt: type[BaseException], place: str
) -> None:
    workflow = interrupted(interrupt, place)

    assert workflow.state == "ready"
    assert history(workflow) == GIVEN_BACK
    assert error_of(workflow.step_executions[0]) == (
        "geneva_drive.errors.ClaimLost",
        f"The execution was released: {interrupt.__name__} in its worker.",
    )


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_async_body_is_given_back(
    geneva: gd.Drive, interrupt: type[BaseException]
) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        async def pack(self) -> None:
            raise interrupt

    workflow = Delivery.create()
    with suppress(KeyboardInterrupt):
        perform_next_step(workflow)

    assert history(workflow) == GIVEN_BACK


def test_the_loop_outlives_an_interrupted_async_body(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        async def pack(self) -> None:
            if self.attempt == 1:
                raise SystemExit

    assert speedrun(Delivery.create()).state == "finished"


def test_a_keyboard_interrupt_goes_on_to_whoever_performs_the_step(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            raise KeyboardInterrupt

    workflow = Delivery.create()

    with pytest.raises(KeyboardInterrupt):
        perform_next_step(workflow)


def test_a_body_that_exits_again_and_again_is_not_given_back_for_ever(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step(on_exception="skip")
        def pack(self) -> None:
            raise SystemExit

    workflow = speedrun(Delivery.create())

    assert workflow.state == "paused"
    assert history(workflow) == [("pack", "failed", "recovered")] * 4
    assert pending_dead_letters(geneva) == ["worker_unavailable"]


def test_no_hook_is_told_of_an_execution_that_is_given_back(geneva: gd.Drive) -> None:
    told: list[str] = []

    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            if self.attempt == 1:
                raise SystemExit

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            told.append(outcome)

    speedrun(Delivery.create())

    assert told == ["success"]
