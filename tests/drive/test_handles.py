"""A workflow as code outside its steps holds it."""

from __future__ import annotations

import gc
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import perform_next_step, speedrun
from tests.deploys import former_code
from tests.looking import history, last

ADA = gd.HeroRef("Pilot", "ada")


class Delivery(gd.Workflow[Any]):
    type_name = "test_handles.Delivery"

    @gd.step
    def pack(self) -> None:
        if self.context.get("torn"):
            raise ValueError("torn")

    @gd.step
    def ship(self) -> None: ...

    @gd.step
    def bill(self) -> None: ...


def test_a_new_workflow_tells_what_it_was_created_with(geneva: gd.Drive) -> None:
    workflow = Delivery.create(ADA, context={"n": 1}, queue="mail", priority=3, allow_multiple=True)

    assert workflow.workflow_class is Delivery
    assert workflow.drive is geneva
    assert (workflow.hero, workflow.hero_type, workflow.hero_id) == (ADA, "Pilot", "ada")
    assert workflow.context == {"n": 1}
    assert (workflow.queue, workflow.priority, workflow.allow_multiple) == ("mail", 3, True)
    assert (workflow.state, workflow.requested, workflow.is_ongoing) == ("ready", None, True)
    assert (workflow.current_step_name, workflow.next_step_name) == (None, "pack")
    assert workflow.previous_step_name is None
    assert workflow.started_at is None
    assert workflow.created_at == workflow.updated_at
    assert workflow.created_at.utcoffset() == timedelta(0)


def test_the_pointers_while_a_body_runs(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    class Look(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

        @gd.step
        def ship(self) -> None:
            handle = gd.Workflow.find(self.id)
            seen.extend(
                [
                    handle.state,
                    handle.previous_step_name,
                    handle.current_step_name,
                    handle.next_step_name,
                    handle.current_execution and handle.current_execution.state,
                ]
            )

        @gd.step
        def bill(self) -> None: ...

    speedrun(Look.create())

    assert seen == ["performing", "pack", "ship", "bill", "in_progress"]


def test_the_last_step_has_none_after_it_while_it_runs(geneva: gd.Drive) -> None:
    seen: list[str | None] = []

    class Look(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            seen.append(self.handle.next_step_name)

    speedrun(Look.create())

    assert seen == [None]


def test_a_finished_workflow_tells_when_it_started_and_finished(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = Delivery.create()
    geneva_clock.advance(timedelta(hours=1))
    speedrun(workflow)

    first, *_, final = workflow.step_executions
    assert workflow.started_at == first.started_at
    assert workflow.finished_at == final.finished_at
    assert workflow.canceled_at is None
    assert not workflow.is_ongoing
    assert workflow.updated_at == workflow.finished_at
    assert workflow.current_execution is None


def test_a_workflow_is_started_as_soon_as_its_first_step_runs(geneva: gd.Drive) -> None:
    seen: list[bool] = []

    class Look(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            handle = self.handle
            assert handle.current_execution is not None
            seen.append(handle.started_at == handle.current_execution.started_at)

    speedrun(Look.create())

    assert seen == [True]


def test_a_canceled_workflow_tells_when(geneva: gd.Drive) -> None:
    workflow = Delivery.create().cancel()

    assert workflow.canceled_at == workflow.updated_at
    assert workflow.finished_at is None
    assert not workflow.is_ongoing


def test_a_paused_workflow_tells_when_why_and_where(geneva: gd.Drive) -> None:
    workflow = speedrun(Delivery.create(context={"torn": True}))

    assert workflow.paused_at == last(workflow).finished_at
    assert workflow.paused_reason == "builtins.ValueError: torn"
    assert workflow.paused_step_name == "pack"
    assert workflow.is_ongoing


@pytest.mark.parametrize(
    ("act", "attribute"),
    [
        (lambda self: None, "completed_at"),
        (lambda self: 1 / 0, "failed_at"),
        (lambda self: self.skip(), "skipped_at"),
        (lambda self: self.cancel(), "canceled_at"),
    ],
    ids=["completed", "failed", "skipped", "canceled"],
)
def test_an_execution_tells_its_end_under_the_one_name_that_applies(
    geneva: gd.Drive, act: Any, attribute: str
) -> None:
    class Act(gd.Workflow):
        @gd.step
        def act(self) -> None:
            act(self)

    execution = speedrun(Act.create()).step_executions[0]

    names = ["completed_at", "failed_at", "skipped_at", "canceled_at"]
    told = {name: getattr(execution, name) for name in names}
    assert told == {name: execution.finished_at if name == attribute else None for name in names}


def test_an_execution_tells_all_that_is_recorded_of_it(geneva: gd.Drive) -> None:
    workflow = Delivery.create(queue="mail", priority=3)
    scheduled = last(workflow)
    assert (scheduled.started_at, scheduled.finished_at, scheduled.outcome) == (None, None, None)
    assert (scheduled.worker_id, scheduled.result) == (None, None)

    perform_next_step(workflow)

    execution = workflow.step_executions[0]
    assert execution.id == scheduled.id
    assert execution.workflow_id == workflow.id
    assert (execution.step_name, execution.node_id, execution.attempt_number) == (
        "pack",
        "pack",
        1,
    )
    assert (execution.state, execution.outcome) == (gd.StepState.COMPLETED, gd.Outcome.SUCCESS)
    assert (execution.queue, execution.priority) == ("mail", 3)
    assert execution.worker_id is not None
    assert execution.metadata == {}
    assert (execution.error_class, execution.error_message, execution.error_backtrace) == (
        None,
        None,
        None,
    )
    assert execution.scheduled_for == workflow.created_at
    assert execution.started_at is not None
    assert execution.finished_at is not None
    assert execution.scheduled_for <= execution.started_at <= execution.finished_at


def test_the_history_keeps_every_attempt_in_order(geneva: gd.Drive) -> None:
    workflow = speedrun(Delivery.create(context={"torn": True}))
    speedrun(workflow.resume(data={"torn": False}))

    assert history(workflow) == [
        ("pack", "failed", "paused_by_exception"),
        ("pack", "completed", "success"),
        ("ship", "completed", "success"),
        ("bill", "completed", "success"),
    ]
    assert [e.id for e in workflow.execution_history] == [e.id for e in workflow.step_executions]


def test_current_executions_are_those_that_are_active(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    perform_next_step(workflow)

    assert [e.step_name for e in workflow.current_executions] == ["ship"]
    assert workflow.current_execution is not None
    assert workflow.current_execution.step_name == "ship"


def test_a_handle_stays_as_it_was_until_it_is_reloaded(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    other = gd.Workflow.find(workflow.id)
    other.cancel()

    assert workflow.state == "ready"
    assert workflow.reload() is workflow
    assert workflow.state == "canceled"


def test_reloading_a_workflow_that_was_deleted_finds_nothing(geneva: gd.Drive) -> None:
    workflow = Delivery.create().cancel()
    geneva.prune(older_than=0)

    with pytest.raises(gd.errors.NotFound) as refusal:
        workflow.reload()

    assert str(refusal.value) == (
        f"There is no workflow with id {workflow.id}. `geneva list` shows all workflows."
    )


def test_handles_of_one_workflow_are_equal(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    same, other = gd.Workflow.find(workflow.id), Delivery.create()

    assert workflow == same
    assert workflow != other
    assert len({workflow, same, other}) == 2
    assert workflow != "something else"


def test_handles_and_executions_tell_in_a_debugger_what_they_are(geneva: gd.Drive) -> None:
    workflow = speedrun(Delivery.create(context={"torn": True}))
    execution = last(workflow)

    assert repr(workflow) == f"<test_handles.Delivery workflow {workflow.id}: paused>"
    assert repr(execution) == (
        f"<StepExecution {execution.id} 'pack' attempt 1: failed (paused_by_exception)>"
    )


def test_a_step_is_passed_once_it_is_completed_or_skipped(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    assert not workflow.has_passed("pack")

    perform_next_step(workflow)
    workflow.skip()

    assert workflow.has_passed(Delivery.pack)
    assert workflow.has_passed("ship")
    assert not workflow.has_passed("bill")


def test_a_step_that_failed_or_runs_again_is_not_passed(geneva: gd.Drive) -> None:
    class Again(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            if self.attempt == 1:
                self.reattempt()
            raise ValueError("torn")

    workflow = Again.create()
    perform_next_step(workflow)
    assert not workflow.has_passed("pack")

    perform_next_step(workflow)
    assert not workflow.has_passed("pack")


def test_asking_for_a_step_that_is_not_defined_is_refused(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.StepNotDefined) as refusal:
        Delivery.create().has_passed("wrap")

    assert str(refusal.value) == (
        "Workflow 'test_handles.Delivery' has no step 'wrap'. Its steps are: pack, ship, bill."
    )


def test_progress_counts_the_steps_that_are_done(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    assert (workflow.progress().done, workflow.progress().total) == (0, 3)

    perform_next_step(workflow)
    workflow.skip()
    assert (workflow.progress().done, workflow.progress().total) == (2, 3)
    assert workflow.progress().fraction == 2 / 3

    speedrun(workflow)
    assert workflow.progress().fraction == 1.0


def test_a_class_without_steps_is_wholly_done(geneva: gd.Drive) -> None:
    class Nothing(gd.Workflow): ...

    assert Nothing.create().progress().fraction == 1.0


def test_a_handle_keeps_a_class_alive_that_nothing_else_holds(geneva: gd.Drive) -> None:
    def start() -> gd.WorkflowHandle[Any]:
        class Fleeting(gd.Workflow):
            @gd.step
            def work(self) -> None: ...

        return Fleeting.create()

    workflow = start()
    gc.collect()

    assert speedrun(workflow).state == "finished"


def test_the_job_options_of_a_workflow_whose_class_is_gone_are_those_it_was_given(
    geneva: gd.Drive,
) -> None:
    with former_code():

        class Gone(gd.Workflow):
            queue = "mail"
            priority = 4

            @gd.step
            def work(self) -> None: ...

        given, plain = Gone.create(queue="slow", priority=1).id, Gone.create().id

    assert (gd.Workflow.find(given).queue, gd.Workflow.find(given).priority) == ("slow", 1)
    assert (gd.Workflow.find(plain).queue, gd.Workflow.find(plain).priority) == ("default", 0)
