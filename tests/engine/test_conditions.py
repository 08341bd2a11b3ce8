"""Conditions are asked when an execution runs, with the world as it is then."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, speedrun
from tests.looking import history

SKIPPED = ("pack", "skipped", "skipped_by_condition")
RAN = ("pack", "completed", "success")


def is_gift(self: gd.Workflow[Any]) -> bool:
    return bool(self.context["gift"])


def packed(gift: bool, **options: Any) -> gd.WorkflowHandle[Any]:
    class Delivery(gd.Workflow):
        def gift(self) -> bool:
            return bool(self.context["gift"])

        @gd.step(**options)
        def pack(self) -> None: ...

        @gd.step
        def ship(self) -> None: ...

    workflow = Delivery.create(context={"gift": gift})
    perform_next_step(workflow)
    return workflow


@pytest.mark.parametrize(
    ("option", "gift", "row"),
    [
        ({"skip_if": "gift"}, True, SKIPPED),
        ({"skip_if": "gift"}, False, RAN),
        ({"skip_if": is_gift}, True, SKIPPED),
        ({"skip_if": is_gift}, False, RAN),
        ({"skip_if": True}, False, SKIPPED),
        ({"skip_if": False}, True, RAN),
        ({"run_if": "gift"}, True, RAN),
        ({"run_if": "gift"}, False, SKIPPED),
        ({"run_if": is_gift}, True, RAN),
        ({"run_if": is_gift}, False, SKIPPED),
        ({"run_if": True}, False, RAN),
        ({"run_if": False}, True, SKIPPED),
    ],
    ids=[
        "skip_if a method that holds",
        "skip_if a method that does not hold",
        "skip_if a function that holds",
        "skip_if a function that does not hold",
        "skip_if True",
        "skip_if False",
        "run_if a method that holds",
        "run_if a method that does not hold",
        "run_if a function that holds",
        "run_if a function that does not hold",
        "run_if True",
        "run_if False",
    ],
)
def test_a_step_is_skipped_by_its_condition(
    geneva: gd.Drive, option: dict[str, Any], gift: bool, row: tuple[str, str, str]
) -> None:
    workflow = packed(gift, **option)

    assert history(workflow) == [row, ("ship", "scheduled", None)]
    assert workflow.state == "ready"


@pytest.mark.parametrize(
    ("answer", "row"), [("", RAN), (0, RAN), (None, RAN), ("yes", SKIPPED), (1, SKIPPED)], ids=repr
)
def test_a_condition_holds_if_its_answer_is_true_in_an_if(
    geneva: gd.Drive, answer: object, row: tuple[str, str, str]
) -> None:
    assert history(packed(False, skip_if=lambda self: answer))[0] == row


def test_a_condition_is_asked_when_the_step_runs_and_not_when_it_is_scheduled(
    geneva: gd.Drive,
) -> None:
    asked: list[str] = []

    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            asked.append("pack ran")

        @gd.step(skip_if=lambda self: asked.append("ship was asked"))
        def ship(self) -> None:
            asked.append("ship ran")

    workflow = Delivery.create()
    perform_next_step(workflow)
    assert asked == ["pack ran"]

    perform_next_step(workflow)
    assert asked == ["pack ran", "ship was asked", "ship ran"]


def test_a_condition_is_asked_again_by_each_attempt(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step(run_if=lambda self: self.attempt == 1)
        def pack(self) -> None:
            self.reattempt()

    workflow = speedrun(Delivery.create())

    assert history(workflow) == [("pack", "completed", "reattempted"), SKIPPED]


def test_cancel_if_cancels_the_workflow_before_the_step_runs(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.cancel_if
        def called_off(self) -> bool:
            return True

        @gd.step
        def pack(self) -> None:
            pytest.fail("the body ran")

    workflow = speedrun(Delivery.create())

    assert workflow.state == "canceled"
    assert history(workflow) == [("pack", "canceled", "canceled_by_condition")]


def test_cancel_if_is_asked_before_every_step(geneva: gd.Drive) -> None:
    sold_out: list[bool] = []

    class Delivery(gd.Workflow):
        @gd.cancel_if
        def called_off(self) -> bool:
            return bool(sold_out)

        @gd.step
        def pack(self) -> None:
            sold_out.append(True)

        @gd.step
        def ship(self) -> None: ...

    workflow = speedrun(Delivery.create())

    assert history(workflow) == [RAN, ("ship", "canceled", "canceled_by_condition")]


def test_cancel_if_is_asked_before_the_steps_own_condition(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        called_off = gd.cancel_if(True)

        @gd.step(skip_if=True)
        def pack(self) -> None: ...

    workflow = speedrun(Delivery.create())

    assert history(workflow) == [("pack", "canceled", "canceled_by_condition")]


def test_any_of_several_cancel_conditions_cancels(geneva: gd.Drive) -> None:
    class Shipping(gd.Workflow):
        @gd.cancel_if
        def called_off(self) -> bool:
            return bool(self.context.get("called_off"))

    class Delivery(Shipping):
        @gd.cancel_if
        def sold_out(self) -> bool:
            return bool(self.context.get("sold_out"))

        @gd.step
        def pack(self) -> None: ...

    states = [
        speedrun(Delivery.create(context=context)).state
        for context in ({}, {"called_off": True}, {"sold_out": True})
    ]

    assert states == ["finished", "canceled", "canceled"]


def test_a_child_may_replace_what_its_parents_cancel_condition_asks(geneva: gd.Drive) -> None:
    class Shipping(gd.Workflow):
        @gd.cancel_if
        def called_off(self) -> bool:
            return True

    class Delivery(Shipping):
        def called_off(self) -> bool:
            return False

        @gd.step
        def pack(self) -> None: ...

    assert speedrun(Delivery.create()).state == "finished"


def test_a_condition_sees_the_instance_that_the_body_runs_on(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        weight = 0

        def weigh(self) -> bool:
            self.weight = 3
            return False

        @gd.step(skip_if="weigh", keep_result=True)
        def pack(self) -> int:
            return self.weight

    workflow = speedrun(Delivery.create())

    assert workflow.step_executions[0].result == 3
