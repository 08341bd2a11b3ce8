"""When steps are scheduled for."""

from __future__ import annotations

from datetime import timedelta

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import drain, perform_next_step
from tests.looking import history, last, waits

DAY = timedelta(days=1)


def test_a_wait_is_measured_from_the_end_of_the_previous_step(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None:
            geneva_clock.advance(timedelta(hours=3))

        @gd.step(wait=2 * DAY)
        def remind(self) -> None: ...

    workflow = Signup.create()
    perform_next_step(workflow)

    assert waits(workflow) == [2 * DAY]
    assert last(workflow).scheduled_for - workflow.created_at >= 2 * DAY + timedelta(hours=3)


def test_a_step_waits_for_its_time(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step(wait=DAY)
        def remind(self) -> None: ...

    workflow = Signup.create()
    assert drain(geneva) == 1
    geneva_clock.advance(DAY - timedelta(minutes=1))
    assert drain(geneva) == 0

    geneva_clock.advance(timedelta(minutes=1))
    assert drain(geneva) == 1
    assert workflow.reload().state == "finished"


def test_the_first_steps_wait_is_measured_from_the_creation(geneva: gd.Drive) -> None:
    class Signup(gd.Workflow):
        @gd.step(wait=60)
        def welcome(self) -> None: ...

    workflow = Signup.create()

    assert last(workflow).scheduled_for - workflow.created_at == timedelta(seconds=60)
    assert drain(geneva) == 0


@pytest.mark.parametrize(
    ("wait", "expected"),
    [(0, timedelta(0)), (90, timedelta(seconds=90)), (DAY, DAY)],
    ids=["none at all", "seconds", "a day"],
)
def test_the_wait_given_at_creation_replaces_the_first_steps(
    geneva: gd.Drive, wait: timedelta | int, expected: timedelta
) -> None:
    class Signup(gd.Workflow):
        @gd.step(wait=60)
        def welcome(self) -> None: ...

        @gd.step(wait=30)
        def remind(self) -> None: ...

    workflow = Signup.create(wait=wait)
    assert last(workflow).scheduled_for - workflow.created_at == expected

    perform_next_step(workflow)
    assert waits(workflow) == [timedelta(seconds=30)]


@pytest.mark.parametrize(
    ("wait", "message"),
    [
        (-1, "create(wait=...): -1 is negative."),
        (
            "soon",
            "create(wait=...): 'soon' is not a duration (a timedelta, seconds, or text such as "
            "'30s').",
        ),
    ],
    ids=repr,
)
def test_a_wait_that_makes_no_sense_is_refused(
    geneva: gd.Drive, wait: int | str, message: str
) -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        Signup.create(wait=wait)

    assert str(refusal.value) == message


def test_a_steps_wait_is_not_applied_again_by_a_reattempt(geneva: gd.Drive) -> None:
    class Signup(gd.Workflow):
        @gd.step(wait=DAY)
        def remind(self) -> None:
            self.reattempt()

    workflow = Signup.create()
    perform_next_step(workflow)

    assert waits(workflow) == [timedelta(0)]


def test_a_steps_wait_is_not_applied_again_by_a_reattempt_after_an_error(
    geneva: gd.Drive,
) -> None:
    class Signup(gd.Workflow):
        @gd.step(wait=DAY, on_exception=gd.ExceptionPolicy("reattempt", wait=10))
        def remind(self) -> None:
            raise ValueError("no mail today")

    workflow = Signup.create()
    perform_next_step(workflow)

    assert waits(workflow) == [timedelta(seconds=10)]


def test_a_steps_wait_is_not_applied_again_by_resume(geneva: gd.Drive) -> None:
    class Signup(gd.Workflow):
        @gd.step(wait=DAY)
        def remind(self) -> None:
            raise ValueError("no mail today")

    workflow = Signup.create()
    perform_next_step(workflow)
    workflow.resume()

    assert drain(geneva) == 1
    assert len(history(workflow)) == 2


def test_a_steps_wait_is_not_applied_by_resume_at(geneva: gd.Drive) -> None:
    class Signup(gd.Workflow):
        @gd.step(wait=DAY)
        def remind(self) -> None: ...

    workflow = Signup.create()
    workflow.resume_at(Signup.remind)

    assert drain(geneva) == 1
    assert workflow.reload().state == "finished"


def test_the_wait_of_a_step_after_a_skipped_one_is_kept(geneva: gd.Drive) -> None:
    class Signup(gd.Workflow):
        @gd.step(skip_if=True)
        def welcome(self) -> None: ...

        @gd.step(wait=DAY)
        def remind(self) -> None: ...

    workflow = Signup.create()
    perform_next_step(workflow)

    assert waits(workflow) == [DAY]
