"""Holding workflows and letting them go on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import drain, perform_next_step, speedrun
from tests.looking import history, last

HOUR = timedelta(hours=1)


class Delivery(gd.Workflow[Any]):
    type_name = "test_pausing_and_resuming.Delivery"

    @gd.step
    def pack(self) -> None:
        if self.context.get("torn"):
            raise ValueError("torn")

    @gd.step(wait=HOUR)
    def ship(self) -> None: ...

    @gd.step
    def bill(self) -> None: ...


def test_a_paused_workflow_starts_no_step(geneva: gd.Drive) -> None:
    workflow = Delivery.create().pause(reason="stock-taking")

    assert drain(geneva) == 0
    assert workflow.reload().state == "paused"
    assert workflow.paused_at is not None
    assert (workflow.paused_reason, workflow.paused_step_name) == ("stock-taking", "pack")


def test_a_pause_keeps_the_scheduled_execution_as_it_is(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = Delivery.create()
    perform_next_step(workflow)
    before = last(workflow)

    workflow.pause()
    geneva_clock.advance(timedelta(minutes=10))
    workflow.resume()

    after = last(workflow)
    assert (after.id, after.scheduled_for) == (before.id, before.scheduled_for)
    assert after.state == "scheduled"


def test_after_resume_a_step_whose_time_has_not_come_runs_at_its_time(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = Delivery.create()
    drain(geneva)
    workflow.pause()
    workflow.resume()

    assert drain(geneva) == 0
    geneva_clock.advance(HOUR)
    assert drain(geneva) == 2
    assert workflow.reload().state == "finished"


def test_after_resume_a_step_whose_time_has_passed_runs_now(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = Delivery.create()
    drain(geneva)
    workflow.pause()
    geneva_clock.advance(2 * HOUR)
    assert drain(geneva) == 0

    workflow.resume()

    assert drain(geneva) == 2
    assert workflow.reload().state == "finished"


def test_resume_clears_what_the_pause_had_noted(geneva: gd.Drive) -> None:
    workflow = Delivery.create().pause(reason="stock-taking").resume()

    assert workflow.state == "ready"
    assert (workflow.paused_at, workflow.paused_reason, workflow.paused_step_name) == (
        None,
        None,
        None,
    )


def test_resume_runs_a_failed_step_again_as_a_new_execution(geneva: gd.Drive) -> None:
    workflow = speedrun(Delivery.create(context={"torn": True}))

    workflow.resume(data={"torn": False})
    assert workflow.next_step_name == "pack"
    perform_next_step(workflow)

    assert history(workflow) == [
        ("pack", "failed", "paused_by_exception"),
        ("pack", "completed", "success"),
        ("ship", "scheduled", None),
    ]
    assert [e.attempt_number for e in workflow.step_executions] == [1, 2, 1]


def test_the_data_of_resume_is_merged_into_the_context_and_its_keys_win(
    geneva: gd.Drive,
) -> None:
    workflow = Delivery.create(context={"box": {"size": 1, "color": "red"}, "gift": True})
    workflow.pause()

    workflow.resume(data={"box": {"size": 2}, "note": "fragile"})

    expected = {"box": {"size": 2}, "gift": True, "note": "fragile"}
    assert workflow.context == expected
    assert gd.Workflow.find(workflow.id).context == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1], "resume(data=...) must be a dictionary with text as keys, got [1]."),
        ("torn", "resume(data=...) must be a dictionary with text as keys, got 'torn'."),
        ({1: 2}, "resume(data=...) must be a dictionary with text as keys, got {1: 2}."),
    ],
    ids=["a list", "text", "a number as key"],
)
def test_resume_refuses_data_that_is_no_dictionary(
    geneva: gd.Drive, data: Any, message: str
) -> None:
    workflow = Delivery.create().pause()

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        workflow.resume(data=data)

    assert str(refusal.value) == message
    assert workflow.reload().state == "paused"


def test_resume_refuses_data_that_no_context_may_hold(geneva: gd.Drive) -> None:
    workflow = Delivery.create(context={"x": 1}).pause()

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        workflow.resume(data={"x": {1, 2}})

    assert str(refusal.value) == (
        "The context['x'] is of type set, which cannot be stored as JSON. Use text, numbers, "
        "booleans, None, lists, tuples, dictionaries, dates and times, Decimal, UUID, bytes or "
        "Enum members. For a record, store its key; for other types, call gd.register_serializer."
    )
    assert workflow.reload().state == "paused"
    assert workflow.context == {"x": 1}


def test_resume_refuses_data_that_makes_the_context_too_large(geneva: gd.Drive) -> None:
    drive = gd.Drive(geneva.engine, max_payload_size=30)
    workflow = Delivery.using(drive).create(context={"a": "x" * 10}).pause()

    with pytest.raises(gd.errors.PayloadTooLarge) as refusal:
        workflow.resume(data={"b": "x" * 10})

    assert str(refusal.value) == (
        "The context is 35 bytes as JSON; the limit is 30 bytes. Store the data elsewhere and "
        "keep its key, or raise the setting max_payload_size."
    )
    assert workflow.reload().state == "paused"


@pytest.mark.parametrize("step", ["bill", Delivery.bill], ids=["by name", "by method"])
def test_resume_at_goes_on_at_a_later_step(geneva: gd.Drive, step: Any) -> None:
    workflow = Delivery.create().resume_at(step)

    assert history(workflow) == [
        ("pack", "canceled", "canceled_by_operator"),
        ("bill", "scheduled", None),
    ]
    assert drain(geneva) == 1
    assert workflow.reload().state == "finished"


def test_resume_at_goes_back_to_an_earlier_step(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    perform_next_step(workflow)
    workflow.pause()

    workflow.resume_at("pack")

    assert workflow.state == "ready"
    assert history(workflow) == [
        ("pack", "completed", "success"),
        ("ship", "canceled", "canceled_by_operator"),
        ("pack", "scheduled", None),
    ]
    assert [e.attempt_number for e in workflow.step_executions] == [1, 1, 2]
    assert speedrun(workflow).state == "finished"


def test_resume_at_an_unknown_step_is_refused(geneva: gd.Drive) -> None:
    workflow = Delivery.create().pause()

    with pytest.raises(gd.errors.StepNotDefined) as refusal:
        workflow.resume_at("wrap")

    assert str(refusal.value) == (
        "Workflow 'test_pausing_and_resuming.Delivery' has no step 'wrap'. "
        "Its steps are: pack, ship, bill."
    )
    assert workflow.reload().state == "paused"
