"""Commands while a step runs: asked for at once, in effect when the step ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, speedrun
from tests.looking import history, last

Handle = gd.WorkflowHandle[Any]


def during_pack(*acts: Callable[[Handle], object], then: Any = None) -> Handle:
    """Perform the first of two steps, during which these things are done to its workflow."""

    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            for act in acts:
                act(gd.Workflow.find(self.id))
            if then is not None:
                then(self)

        @gd.step(wait=60)
        def ship(self) -> None: ...

    workflow = Delivery.create()
    perform_next_step(workflow)
    return workflow


def test_a_pause_is_requested_and_takes_effect_when_the_step_ends(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    workflow = during_pack(
        lambda w: seen.append(w.pause(reason="stock-taking").requested),
        lambda w: seen.append(w.state),
    )

    assert seen == ["pause", "performing"]
    assert workflow.state == "paused"
    assert workflow.requested is None
    assert (workflow.paused_reason, workflow.paused_step_name) == ("stock-taking", "ship")
    assert history(workflow) == [("pack", "completed", "success"), ("ship", "scheduled", None)]


def test_the_execution_after_a_requested_pause_is_held_with_its_schedule(
    geneva: gd.Drive,
) -> None:
    workflow = during_pack(lambda w: w.pause())
    held = last(workflow)
    assert perform_next_step(workflow) is None

    workflow.resume()

    assert (last(workflow).id, last(workflow).scheduled_for) == (held.id, held.scheduled_for)
    assert speedrun(workflow).state == "finished"


def test_a_cancel_is_requested_and_takes_effect_when_the_step_ends(geneva: gd.Drive) -> None:
    workflow = during_pack(lambda w: w.cancel())

    assert workflow.state == "canceled"
    assert workflow.requested is None
    assert history(workflow) == [
        ("pack", "completed", "success"),
        ("ship", "canceled", "canceled_by_operator"),
    ]


def test_a_cancel_replaces_a_requested_pause(geneva: gd.Drive) -> None:
    workflow = during_pack(lambda w: w.pause(), lambda w: w.cancel())

    assert workflow.state == "canceled"


def test_a_pause_does_not_replace_a_requested_cancel(geneva: gd.Drive) -> None:
    workflow = during_pack(lambda w: w.cancel(), lambda w: w.pause())

    assert workflow.state == "canceled"


def test_repeating_a_request_changes_nothing(geneva: gd.Drive) -> None:
    workflow = during_pack(lambda w: w.pause(reason="first"), lambda w: w.pause(reason="second"))

    assert workflow.paused_reason == "first"


def test_resume_withdraws_a_requested_pause(geneva: gd.Drive) -> None:
    workflow = during_pack(lambda w: w.pause(reason="stock-taking"), lambda w: w.resume())

    assert workflow.state == "ready"
    assert workflow.paused_reason is None
    assert [entry.command for entry in workflow.audit_entries] == ["pause", "resume"]


def test_resume_that_withdraws_a_pause_merges_its_data(geneva: gd.Drive) -> None:
    workflow = during_pack(lambda w: w.pause(), lambda w: w.resume(data={"box": "red"}))

    assert workflow.context == {"box": "red"}


def test_a_pause_during_the_last_step_lets_the_workflow_finish(geneva: gd.Drive) -> None:
    class Single(gd.Workflow):
        @gd.step
        def work(self) -> None:
            self.handle.pause()

    workflow = speedrun(Single.create())

    assert workflow.state == "finished"
    assert workflow.requested is None


def test_a_cancel_during_the_last_step_lets_the_workflow_finish(geneva: gd.Drive) -> None:
    class Single(gd.Workflow):
        @gd.step
        def work(self) -> None:
            self.handle.cancel()

    workflow = speedrun(Single.create())

    assert workflow.state == "finished"
    assert history(workflow) == [("work", "completed", "success")]


def test_a_step_that_cancels_its_own_workflow_by_its_handle_runs_to_its_end(
    geneva: gd.Drive,
) -> None:
    reached: list[str] = []

    class Delivery(gd.Workflow):
        @gd.step
        def pack(self) -> None:
            self.handle.cancel(reason="sold out", actor="pack")
            reached.append("the end")

        @gd.step
        def ship(self) -> None: ...

    workflow = speedrun(Delivery.create())

    assert reached == ["the end"]
    assert workflow.state == "canceled"
    assert history(workflow)[0] == ("pack", "completed", "success")
    assert [(e.command, e.reason, e.actor) for e in workflow.audit_entries] == [
        ("cancel", "sold out", "pack")
    ]


@pytest.mark.parametrize(
    ("then", "row", "state"),
    [
        (lambda self: self.skip(), ("pack", "skipped", "skipped_by_flow_control"), "paused"),
        (lambda self: self.finish(), ("pack", "completed", "success"), "finished"),
        (lambda self: self.cancel(), ("pack", "canceled", "canceled_by_flow_control"), "canceled"),
        (lambda self: self.reattempt(), ("pack", "completed", "reattempted"), "paused"),
        (lambda self: 1 / 0, ("pack", "failed", "paused_by_exception"), "paused"),
    ],
    ids=["skip", "finish", "cancel", "reattempt", "raise"],
)
def test_the_steps_own_outcome_is_recorded_before_a_requested_pause(
    geneva: gd.Drive, then: Any, row: tuple[str, str, str], state: str
) -> None:
    workflow = during_pack(lambda w: w.pause(), then=then)

    assert history(workflow)[0] == row
    assert workflow.state == state
    assert workflow.requested is None


def test_a_failure_tells_its_own_reason_beside_a_requested_pause(geneva: gd.Drive) -> None:
    workflow = during_pack(lambda w: w.pause(reason="stock-taking"), then=lambda self: 1 / 0)

    assert workflow.paused_reason == "builtins.ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("then", "row"),
    [
        (lambda self: self.pause(), ("pack", "canceled", "paused_by_flow_control")),
        (lambda self: self.reattempt(), ("pack", "completed", "reattempted")),
        (lambda self: 1 / 0, ("pack", "failed", "paused_by_exception")),
    ],
    ids=["pause", "reattempt", "raise"],
)
def test_the_steps_own_outcome_is_recorded_before_a_requested_cancel(
    geneva: gd.Drive, then: Any, row: tuple[str, str, str]
) -> None:
    workflow = during_pack(lambda w: w.cancel(), then=then)

    assert history(workflow)[0] == row
    assert workflow.state == "canceled"
    assert workflow.current_execution is None


def test_a_cancel_by_force_fences_the_running_body_off_at_once(geneva: gd.Drive) -> None:
    seen: list[str] = []
    workflow = during_pack(lambda w: seen.append(w.cancel(force=True).state))

    assert seen == ["canceled"]
    assert workflow.state == "canceled"
    assert history(workflow) == [("pack", "canceled", "canceled_by_operator")]


def test_the_verbs_of_a_body_that_was_fenced_off_count_no_more(geneva: gd.Drive) -> None:
    workflow = during_pack(lambda w: w.cancel(force=True), then=lambda self: self.finish())

    assert workflow.state == "canceled"
