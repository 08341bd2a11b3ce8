"""Queue and priority: given at creation, by the step, or by the class."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_next_step
from tests.looking import last


class Mailing(gd.Workflow[Any]):
    type_name = "test_job_options.Mailing"
    queue = "mail"
    priority = 10

    @gd.step
    def write(self) -> None: ...

    @gd.step(queue="urgent", priority=-5)
    def send(self) -> None: ...


def job(workflow: gd.WorkflowHandle[Any]) -> tuple[str, int]:
    return last(workflow).queue, last(workflow).priority


def test_a_step_without_options_takes_those_of_its_class(geneva: gd.Drive) -> None:
    workflow = Mailing.create()

    assert job(workflow) == ("mail", 10)
    assert (workflow.queue, workflow.priority) == ("mail", 10)


def test_a_steps_options_stand_before_those_of_its_class(geneva: gd.Drive) -> None:
    workflow = Mailing.create()
    perform_next_step(workflow)

    assert job(workflow) == ("urgent", -5)


def test_options_given_at_creation_stand_before_all_others(geneva: gd.Drive) -> None:
    workflow = Mailing.create(queue="slow", priority=0)
    assert job(workflow) == ("slow", 0)

    perform_next_step(workflow)
    assert job(workflow) == ("slow", 0)
    assert (workflow.queue, workflow.priority) == ("slow", 0)


def test_without_any_option_the_queue_is_default_and_the_priority_zero(
    geneva: gd.Drive,
) -> None:
    class Plain(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    assert job(Plain.create()) == ("default", 0)


def test_options_are_inherited_and_may_be_overridden_one_by_one(geneva: gd.Drive) -> None:
    class Newsletter(Mailing):
        priority = 3

    assert job(Newsletter.create()) == ("mail", 3)


def test_a_reattempt_keeps_queue_and_priority(geneva: gd.Drive) -> None:
    class Again(gd.Workflow):
        @gd.step(queue="urgent", priority=7)
        def work(self) -> None:
            self.reattempt()

    workflow = Again.create()
    perform_next_step(workflow)

    assert job(workflow) == ("urgent", 7)


def test_a_higher_priority_runs_first_and_among_equals_the_older(geneva: gd.Drive) -> None:
    ran: list[str] = []

    class Note(gd.Workflow):
        @gd.step
        def note(self) -> None:
            ran.append(self.context["name"])

    for name, priority in [("low", -1), ("first", 0), ("second", 0), ("high", 5)]:
        Note.create(context={"name": name}, priority=priority)
    drain(geneva)

    assert ran == ["high", "first", "second", "low"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queue": ""}, "queue must not be empty."),
        ({"queue": 3}, "queue must be text, got 3."),
        ({"priority": "high"}, "priority must be a whole number, got 'high'."),
        ({"priority": 2**31}, "priority must be at most 2147483647, got 2147483648."),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused_at_creation(
    geneva: gd.Drive, options: Any, message: str
) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        Mailing.create(**options)

    assert str(refusal.value) == message
    assert Mailing.ongoing().count() == 0
