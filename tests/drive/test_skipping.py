"""Passing over a step from outside."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, speedrun
from tests.looking import history, last


class Delivery(gd.Workflow[Any]):
    type_name = "test_skipping.Delivery"

    @gd.step
    def pack(self) -> None:
        raise ValueError("torn")

    @gd.step(wait=60)
    def ship(self) -> None: ...


def test_a_scheduled_step_is_marked_skipped_and_the_next_is_scheduled(geneva: gd.Drive) -> None:
    workflow = Delivery.create().skip()

    assert workflow.state == "ready"
    assert history(workflow) == [
        ("pack", "skipped", "skipped_by_operator"),
        ("ship", "scheduled", None),
    ]
    assert (workflow.previous_step_name, workflow.next_step_name) == ("pack", "ship")
    assert last(workflow).scheduled_for - workflow.updated_at == timedelta(seconds=60)


def test_a_failed_step_is_passed_over_with_a_row_of_its_own(geneva: gd.Drive) -> None:
    workflow = speedrun(Delivery.create())

    workflow.skip()

    assert workflow.state == "ready"
    assert (workflow.paused_at, workflow.paused_reason) == (None, None)
    assert history(workflow) == [
        ("pack", "failed", "paused_by_exception"),
        ("pack", "skipped", "skipped_by_operator"),
        ("ship", "scheduled", None),
    ]
    assert [e.attempt_number for e in workflow.step_executions] == [1, 2, 1]
    assert workflow.has_passed("pack")


def test_a_held_step_is_skipped_and_the_workflow_made_ready(geneva: gd.Drive) -> None:
    workflow = Delivery.create().pause().skip()

    assert workflow.state == "ready"
    assert history(workflow) == [
        ("pack", "skipped", "skipped_by_operator"),
        ("ship", "scheduled", None),
    ]


def test_skipping_the_last_step_finishes_the_workflow(geneva: gd.Drive) -> None:
    workflow = Delivery.create().skip().skip()

    assert workflow.state == "finished"
    assert workflow.finished_at is not None
    assert history(workflow)[1] == ("ship", "skipped", "skipped_by_operator")


@pytest.mark.parametrize("node", ["pack", Delivery.pack], ids=["by name", "by method"])
def test_the_step_to_skip_may_be_named(geneva: gd.Drive, node: Any) -> None:
    workflow = Delivery.create().skip(node)

    assert workflow.next_step_name == "ship"


def test_a_step_that_the_workflow_does_not_stand_at_is_not_skipped(geneva: gd.Drive) -> None:
    workflow = Delivery.create()

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        workflow.skip("ship")

    assert str(refusal.value) == "Cannot skip step 'ship': the workflow is at step 'pack'."
    assert history(workflow) == [("pack", "scheduled", None)]


def test_an_unknown_step_is_not_skipped(geneva: gd.Drive) -> None:
    workflow = Delivery.create()

    with pytest.raises(gd.errors.StepNotDefined) as refusal:
        workflow.skip("wrap")

    assert str(refusal.value) == (
        "Workflow 'test_skipping.Delivery' has no step 'wrap'. Its steps are: pack, ship."
    )


def test_a_step_that_is_to_be_reattempted_may_be_skipped(geneva: gd.Drive) -> None:
    class Again(gd.Workflow):
        @gd.step(on_exception=gd.ExceptionPolicy("reattempt", wait=3600))
        def pack(self) -> None:
            raise ValueError("torn")

    workflow = Again.create()
    perform_next_step(workflow)
    workflow.skip()

    assert workflow.state == "finished"
    assert history(workflow) == [
        ("pack", "failed", "reattempted_by_exception"),
        ("pack", "skipped", "skipped_by_operator"),
    ]
