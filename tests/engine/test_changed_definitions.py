"""Workflows under way while their class changes: removed, renamed and vanished steps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.definition.workflow import definition_of
from geneva_drive.testing import drain, perform_next_step, speedrun
from tests.deploys import former_code
from tests.looking import error_of, history, last


@pytest.fixture
def standing_at_pack(geneva: gd.Drive) -> gd.WorkflowHandle[Any]:
    """A workflow whose next step is `pack`, of a class that is then taken out of the process."""
    with former_code():

        class Former(gd.Workflow):
            type_name = "Delivery"

            @gd.step
            def reserve(self) -> None: ...

            @gd.step
            def pack(self) -> None: ...

            @gd.step
            def ship(self) -> None: ...

        workflow = Former.create()
        perform_next_step(workflow)
    return workflow


class Changed(gd.Workflow[Any]):
    """What the class looks like after `pack` was deleted without a trace."""

    type_name = "test_changed_definitions.Changed"

    @gd.step
    def reserve(self) -> None: ...

    @gd.step
    def ship(self) -> None: ...


VANISHED = (
    "Workflow 'Delivery' has no step 'pack'. Its steps are: reserve, ship. An execution is at "
    'this step. Put `pack = gd.removed_step()` where it was, or `renamed_from="pack"` on its '
    "successor, and resume; or choose the step to continue at: `resume_at` in code, "
    "`geneva resume ID --at STEP` in the shell."
)


def announce_worker(drive: gd.Drive, signature: str) -> None:
    """Let the workers' table tell of a living worker with this code for the class."""
    store = drive.store
    store.write(
        lambda connection: store.workers.register(
            connection,
            "another",
            name="another",
            queues=None,
            signatures={"Delivery": signature},
        )
    )


def test_an_execution_standing_on_a_removed_step_is_skipped(
    standing_at_pack: gd.WorkflowHandle[Any],
) -> None:
    class Delivery(Changed):
        pack = gd.removed_step()

        @gd.step
        def bill(self) -> None: ...

    workflow = speedrun(standing_at_pack)

    assert history(workflow) == [
        ("reserve", "completed", "success"),
        ("pack", "skipped", "skipped_by_removal"),
        ("bill", "completed", "success"),
    ]
    assert Delivery.finished().ids() == [workflow.id]


def test_new_workflows_pass_over_the_place_of_a_removed_step(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        pack = gd.removed_step()

        @gd.step
        def ship(self) -> None: ...

    workflow = speedrun(Delivery.create())

    assert [row[0] for row in history(workflow)] == ["reserve", "ship"]


def test_an_execution_of_a_renamed_step_runs_the_step_under_its_new_name(
    standing_at_pack: gd.WorkflowHandle[Any],
) -> None:
    ran: list[str] = []

    class Delivery(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step(renamed_from="pack")
        def wrap(self) -> None:
            ran.append("wrap")

        @gd.step
        def ship(self) -> None:
            ran.append("ship")

    workflow = speedrun(standing_at_pack)

    assert ran == ["wrap", "ship"]
    assert workflow.state == "finished"
    assert workflow.has_passed(Delivery.wrap)
    assert workflow.progress().done == 3


def test_an_execution_standing_on_a_vanished_step_fails_and_says_how_to_go_on(
    standing_at_pack: gd.WorkflowHandle[Any],
) -> None:
    class Delivery(Changed): ...

    workflow = speedrun(standing_at_pack)

    assert workflow.state == "paused"
    assert last(workflow).state == "failed"
    assert last(workflow).outcome == "paused_by_exception"
    assert error_of(last(workflow)) == ("geneva_drive.errors.StepVanished", VANISHED)
    assert Delivery.paused().ids() == [workflow.id]


def test_a_vanished_step_fails_whatever_the_policy_of_the_class(
    standing_at_pack: gd.WorkflowHandle[Any],
) -> None:
    class Delivery(Changed):
        on_exception = "skip"

    workflow = speedrun(standing_at_pack)

    assert Delivery.paused().ids() == [workflow.id]


def test_a_workflow_at_a_vanished_step_goes_on_at_a_chosen_one(
    standing_at_pack: gd.WorkflowHandle[Any],
) -> None:
    class Delivery(Changed): ...

    workflow = speedrun(standing_at_pack)
    workflow.resume_at(Delivery.ship)

    assert speedrun(workflow).state == "finished"


def test_resuming_at_a_vanished_step_is_refused_and_says_how_to_go_on(
    standing_at_pack: gd.WorkflowHandle[Any],
) -> None:
    class Delivery(Changed): ...

    workflow = speedrun(standing_at_pack)
    with pytest.raises(gd.errors.StepNotDefined) as refusal:
        workflow.resume()

    assert str(refusal.value) == VANISHED
    assert Delivery.paused().count() == 1


def test_a_workflow_that_failed_at_a_vanished_step_resumes_once_its_place_is_kept(
    standing_at_pack: gd.WorkflowHandle[Any],
) -> None:
    with former_code():

        class Delivery(Changed): ...

        workflow = speedrun(standing_at_pack)

    class Mended(gd.Workflow):
        type_name = "Delivery"

        @gd.step
        def reserve(self) -> None: ...

        pack = gd.removed_step()

        @gd.step
        def ship(self) -> None: ...

    speedrun(workflow.resume())

    assert history(workflow)[2:] == [
        ("pack", "skipped", "skipped_by_removal"),
        ("ship", "completed", "success"),
    ]
    assert (Delivery.__name__, Mended.finished().count()) == ("Delivery", 1)


def test_an_older_worker_leaves_a_step_that_newer_code_knows_to_its_workers(
    geneva: gd.Drive, standing_at_pack: gd.WorkflowHandle[Any], geneva_clock: ShiftedClock
) -> None:
    class Delivery(Changed): ...

    announce_worker(geneva, "another shape")
    before = last(standing_at_pack)
    drain(geneva)

    workflow = standing_at_pack.reload()
    assert workflow.state == "ready"
    assert history(workflow)[1] == ("pack", "scheduled", None)
    assert last(workflow).id == before.id
    assert (last(workflow).started_at, last(workflow).worker_id) == (None, None)
    assert Delivery.ready().count() == 1


def test_a_step_that_was_left_rests_before_it_is_offered_again(
    geneva: gd.Drive, standing_at_pack: gd.WorkflowHandle[Any], geneva_clock: ShiftedClock
) -> None:
    class Delivery(Changed): ...

    announce_worker(geneva, "another shape")

    assert drain(geneva) == 1
    assert drain(geneva) == 0
    geneva_clock.advance(timedelta(seconds=3))
    assert drain(geneva) == 1
    assert Delivery.ready().count() == 1


def test_a_pause_holds_a_step_that_was_left_to_others(
    geneva: gd.Drive, standing_at_pack: gd.WorkflowHandle[Any], geneva_clock: ShiftedClock
) -> None:
    class Delivery(Changed): ...

    announce_worker(geneva, "another shape")
    drain(geneva)
    standing_at_pack.pause()
    geneva_clock.advance(timedelta(hours=1))

    assert drain(geneva) == 0
    assert Delivery.paused().count() == 1


def test_after_the_grace_period_a_step_that_nobody_took_fails(
    geneva: gd.Drive, standing_at_pack: gd.WorkflowHandle[Any], geneva_clock: ShiftedClock
) -> None:
    class Delivery(Changed): ...

    announce_worker(geneva, "another shape")
    geneva_clock.advance(timedelta(minutes=11))
    drain(geneva)

    assert Delivery.paused().ids() == [standing_at_pack.id]
    assert last(standing_at_pack).error_message == VANISHED


def test_workers_with_the_same_code_are_no_reason_to_wait(
    geneva: gd.Drive, standing_at_pack: gd.WorkflowHandle[Any]
) -> None:
    class Delivery(Changed): ...

    announce_worker(geneva, definition_of(Delivery).signature)
    drain(geneva)

    assert Delivery.paused().ids() == [standing_at_pack.id]


def test_a_class_without_steps_finishes_at_once(geneva: gd.Drive) -> None:
    class Nothing(gd.Workflow): ...

    workflow = Nothing.create()

    assert workflow.state == "finished"
    assert workflow.step_executions == []
    assert workflow.started_at == workflow.finished_at == workflow.created_at


def test_a_class_of_removed_steps_only_finishes_at_once(geneva: gd.Drive) -> None:
    class Nothing(gd.Workflow):
        pack = gd.removed_step()

    assert Nothing.create().state == "finished"


def test_a_renamed_step_has_passed_by_its_last_attempt_under_either_name(geneva: gd.Drive) -> None:
    with former_code():

        class Former(gd.Workflow):
            type_name = "Parcel"

            @gd.step
            def pack(self) -> None:
                raise ValueError("no box")

        workflow_id = Former.create().id
        drain()

    class Parcel(gd.Workflow):
        @gd.step(renamed_from="pack")
        def box(self) -> None: ...

    parcel = Parcel.find(workflow_id)
    assert not parcel.has_passed("box")

    parcel.resume()
    drain()

    assert parcel.reload().has_passed("box")
    assert parcel.progress().fraction == 1.0
