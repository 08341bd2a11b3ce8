"""How often a policy reattempts, and what then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step, speedrun
from tests.looking import history, pending_dead_letters

AGAIN = ("pack", "failed", "reattempted_by_exception")


def delivery(body: Callable[[gd.Workflow[Any]], None], **options: Any) -> gd.WorkflowHandle[Any]:
    """A workflow of two steps, the first with this body and these options."""

    class Delivery(gd.Workflow):
        @gd.step(**options)
        def pack(self) -> None:
            body(self)

        @gd.step
        def ship(self) -> None: ...

    return Delivery.create()


def fail(self: gd.Workflow[Any]) -> None:
    raise ValueError("torn")


def test_max_reattempts_of_two_means_three_runs_and_then_a_pause(geneva: gd.Drive) -> None:
    workflow = speedrun(delivery(fail, on_exception="reattempt", max_reattempts=2))

    assert workflow.state == "paused"
    assert history(workflow) == [AGAIN, AGAIN, ("pack", "failed", "paused_by_exception")]
    assert [e.attempt_number for e in workflow.step_executions] == [1, 2, 3]


@pytest.mark.parametrize(
    ("action", "row", "state"),
    [
        ("pause", ("pack", "failed", "paused_by_exception"), "paused"),
        ("cancel", ("pack", "failed", "canceled_by_exception"), "canceled"),
        ("skip", ("pack", "skipped", "skipped_by_exception"), "ready"),
    ],
)
def test_the_terminal_action_follows_the_last_reattempt_with_one_dead_letter(
    geneva: gd.Drive, action: str, row: tuple[str, str, str], state: str
) -> None:
    workflow = delivery(fail, on_exception="reattempt", max_reattempts=1, terminal_action=action)
    perform_next_step(workflow)
    perform_next_step(workflow)

    assert history(workflow)[:2] == [AGAIN, row]
    assert workflow.state == state
    assert pending_dead_letters(geneva) == ["max_retries_exceeded"]


def test_a_dead_letter_names_the_step_that_failed(geneva: gd.Drive) -> None:
    speedrun(delivery(fail, on_exception="reattempt", max_reattempts=1, terminal_action="skip"))

    table = geneva.store.tables.dead_letters
    with geneva.store.reading() as connection:
        assert connection.execute(table.select()).one().step_name == "pack"


def test_a_workflow_has_one_pending_dead_letter_however_often_it_fails(geneva: gd.Drive) -> None:
    workflow = speedrun(delivery(fail, on_exception="reattempt", max_reattempts=1))
    speedrun(workflow.resume())

    assert history(workflow).count(("pack", "failed", "paused_by_exception")) == 2
    assert pending_dead_letters(geneva) == ["max_retries_exceeded"]


def test_other_actions_leave_no_dead_letter(geneva: gd.Drive) -> None:
    speedrun(delivery(fail, on_exception="pause"))

    assert pending_dead_letters(geneva) == []


@pytest.mark.databases("sqlite")
def test_the_word_reattempt_alone_means_a_hundred_reattempts(geneva: gd.Drive) -> None:
    workflow = speedrun(delivery(fail, on_exception="reattempt"), max_steps=200)

    assert workflow.state == "paused"
    assert len(workflow.step_executions) == 101


def test_no_limit_means_no_end(geneva: gd.Drive) -> None:
    policy = gd.ExceptionPolicy("reattempt", max_reattempts=None)

    with pytest.raises(AssertionError, match="has not ended after 15 steps"):
        speedrun(delivery(fail, on_exception=policy), max_steps=15)


def test_a_limit_belongs_to_its_own_policy(geneva: gd.Drive) -> None:
    errors = iter([KeyError(), ValueError(), KeyError(), ValueError(), KeyError()])

    def fail_in_turn(self: gd.Workflow[Any]) -> None:
        raise next(errors)

    workflow = speedrun(
        delivery(
            fail_in_turn,
            on_exception=[
                gd.ExceptionPolicy("reattempt", matching=KeyError, max_reattempts=2),
                gd.ExceptionPolicy("reattempt", matching=ValueError, max_reattempts=2),
            ],
        )
    )

    assert history(workflow) == [AGAIN] * 4 + [("pack", "failed", "paused_by_exception")]


def test_the_limit_of_a_class_counts_each_step_by_itself(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        on_exception = gd.ExceptionPolicy("reattempt", max_reattempts=2)

        @gd.step
        def pack(self) -> None:
            if self.attempt < 3:
                raise ValueError("torn")

        @gd.step
        def ship(self) -> None:
            if self.attempt < 3:
                raise ValueError("lost")

    assert speedrun(Delivery.create()).state == "finished"


def test_failures_before_a_success_are_forgotten(geneva: gd.Drive) -> None:
    def fail_at_first(self: gd.Workflow[Any]) -> None:
        if self.attempt % 2:
            raise ValueError("torn")

    workflow = delivery(fail_at_first, on_exception="reattempt", max_reattempts=1)
    perform_next_step(workflow)
    perform_next_step(workflow)
    workflow.resume_at("pack")
    perform_next_step(workflow)

    assert history(workflow) == [
        AGAIN,
        ("pack", "completed", "success"),
        ("ship", "canceled", "canceled_by_operator"),
        AGAIN,
        ("pack", "scheduled", None),
    ]


def test_a_deliberate_reattempt_neither_counts_nor_resets(geneva: gd.Drive) -> None:
    def fail_between_reattempts(self: gd.Workflow[Any]) -> None:
        if self.attempt % 2:
            self.reattempt()
        raise ValueError("torn")

    workflow = speedrun(
        delivery(fail_between_reattempts, on_exception="reattempt", max_reattempts=1)
    )

    assert history(workflow) == [
        ("pack", "completed", "reattempted"),
        AGAIN,
        ("pack", "completed", "reattempted"),
        ("pack", "failed", "paused_by_exception"),
    ]


def test_a_lost_worker_neither_counts_nor_resets(geneva: gd.Drive) -> None:
    workflow = delivery(fail, on_exception="reattempt", max_reattempts=1)
    perform_next_step(workflow)
    with crash_after("claim"):
        drain(geneva)
    drain(geneva)

    assert history(workflow) == [
        AGAIN,
        ("pack", "failed", "recovered"),
        ("pack", "failed", "paused_by_exception"),
    ]


@pytest.mark.parametrize("command", ["resume", "resume_at"])
def test_an_operators_command_resets_the_count(geneva: gd.Drive, command: str) -> None:
    workflow = speedrun(delivery(fail, on_exception="reattempt", max_reattempts=1))
    arguments = ["pack"] if command == "resume_at" else []

    getattr(workflow, command)(*arguments)
    speedrun(workflow)

    ended = ("pack", "failed", "paused_by_exception")
    assert history(workflow) == [AGAIN, ended, AGAIN, ended]


def test_pausing_and_resuming_before_a_reattempt_resets_the_count(geneva: gd.Drive) -> None:
    workflow = delivery(fail, on_exception="reattempt", max_reattempts=1)
    perform_next_step(workflow)
    workflow.pause()
    workflow.resume()
    perform_next_step(workflow)

    assert history(workflow) == [AGAIN, AGAIN, ("pack", "scheduled", None)]


def test_a_permanent_error_is_never_reattempted(geneva: gd.Drive) -> None:
    def give_up(self: gd.Workflow[Any]) -> None:
        raise gd.PermanentError("no such address")

    workflow = speedrun(delivery(give_up, on_exception="reattempt", terminal_action="cancel"))

    assert history(workflow) == [("pack", "failed", "canceled_by_exception")]
    assert pending_dead_letters(geneva) == []


def test_a_permanent_error_without_a_policy_pauses(geneva: gd.Drive) -> None:
    def give_up(self: gd.Workflow[Any]) -> None:
        raise gd.PermanentError("no such address")

    workflow = speedrun(delivery(give_up))

    assert history(workflow) == [("pack", "failed", "paused_by_exception")]


def test_a_permanent_error_takes_any_other_action_as_it_is(geneva: gd.Drive) -> None:
    def give_up(self: gd.Workflow[Any]) -> None:
        raise gd.PermanentError("no such address")

    workflow = delivery(give_up, on_exception="skip")
    perform_next_step(workflow)

    assert history(workflow)[0] == ("pack", "skipped", "skipped_by_exception")


def test_retry_is_short_for_a_reattempt_policy(geneva: gd.Drive) -> None:
    workflow = speedrun(delivery(fail, retry=gd.Retry(max=2)))

    assert history(workflow) == [AGAIN, AGAIN, ("pack", "failed", "paused_by_exception")]
