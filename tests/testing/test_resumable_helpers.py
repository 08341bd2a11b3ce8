"""What the testing room offers for resumable steps."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import (
    assert_cursor,
    assert_iterations,
    crash_after,
    drain,
    perform_step_inline,
    run_iterations,
    speedrun,
    speedrun_resumable_step,
)
from tests.looping import importing, place, through


def test_run_iterations_runs_so_many_items_and_interrupts(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(9), done))

    first = run_iterations(workflow, "rows", count=2)
    second = run_iterations(workflow, "rows", count=3)

    assert place(first) == ("suspended", "max_iterations", 2, 2)
    assert place(second) == ("suspended", "max_iterations", 5, 5)
    assert done == [0, 1, 2, 3, 4]


def test_run_iterations_counts_instead_of_the_steps_own_limit(geneva: gd.Drive) -> None:
    workflow = importing(through(range(9), []), max_iterations=2)

    assert run_iterations(workflow, "rows", count=5).cursor == 5


def test_run_iterations_of_more_than_there_is_completes_the_step(geneva: gd.Drive) -> None:
    workflow = importing(through(range(3), []))

    assert place(run_iterations(workflow, "rows", count=4)) == ("completed", None, None, 3)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "must be at least 1, got 0."),
        (-1, "must be at least 1, got -1."),
        (2.5, "must be a whole number, got 2.5."),
        ("3", "must be a whole number, got '3'."),
        (True, "must be a whole number, got True."),
        (None, "must be a whole number, got None."),
    ],
)
def test_run_iterations_of_no_number_of_items_is_refused(
    geneva: gd.Drive, count: Any, words: str
) -> None:
    done: list[int] = []
    workflow = importing(through(range(9), done))

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        run_iterations(workflow, "rows", count=count)

    assert str(refusal.value) == (
        f"run_iterations(count=...) {words} To run a step to its end, use "
        f"speedrun_resumable_step()."
    )
    assert (workflow.reload().state, done) == ("ready", [])


def test_run_iterations_of_a_step_that_is_not_resumable_is_refused(geneva: gd.Drive) -> None:
    workflow = importing(through(range(3), []))
    speedrun_resumable_step(workflow, "rows")

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        run_iterations(workflow, "report", count=1)

    assert str(refusal.value) == (
        f"run_iterations() needs a resumable step, but step 'report' of {workflow!r} is "
        f"not one. To run it, use perform_step_inline()."
    )
    assert workflow.reload().next_step_name == "report"


@gd.job
def send() -> None: ...


def test_run_iterations_of_a_job_is_refused(geneva: gd.Drive) -> None:
    building = gd.DynamicWorkflow()
    building.node("send", job=send)
    workflow = building.start()

    with pytest.raises(gd.errors.InvalidInput, match=r"step 'send' of .* is not one"):
        run_iterations(workflow, "send", count=1)


def test_a_resumable_step_is_run_to_its_end_whatever_would_interrupt_it(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(5), done), max_iterations=1, max_runtime=0.000001)

    execution = speedrun_resumable_step(workflow, "rows")

    assert done == [0, 1, 2, 3, 4]
    assert place(execution) == ("completed", None, None, 5)
    assert workflow.next_step_name == "report"


def test_a_resumable_step_that_suspends_itself_is_taken_up_without_waiting(
    geneva: gd.Drive,
) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(3), done, lambda self, item: done == [0, 1] and self.suspend(wait=3600))
    )

    execution = speedrun_resumable_step(workflow, "rows")

    assert done == [0, 1, 1, 2]
    assert place(execution) == ("completed", "suspend", None, 3)


def test_running_a_resumable_step_stops_where_it_fails(geneva: gd.Drive) -> None:
    workflow = importing(through(range(3), [], lambda self, item: 1 / item))

    execution = speedrun_resumable_step(workflow, "rows")

    assert (execution.state, execution.error_message) == ("failed", "division by zero")


def test_only_the_step_that_is_next_can_be_run(geneva: gd.Drive) -> None:
    workflow = importing(through(range(3), []))

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        run_iterations(workflow, "report", count=1)

    assert str(refusal.value) == (
        f"<Import workflow {workflow.id}: ready> is at step 'rows', not at 'report'."
    )


def test_a_held_loop_cannot_be_performed(geneva: gd.Drive) -> None:
    workflow = importing(through(range(3), []))
    run_iterations(workflow, "rows", count=1)
    workflow.pause()

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        perform_step_inline(workflow)

    assert str(refusal.value) == (
        f"<Import workflow {workflow.id}: paused> is paused, so its step cannot be performed."
    )


def test_speedrun_ignores_what_a_loop_waits_for(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(3), done, lambda self, item: len(done) == 1 and self.suspend(wait=3600))
    )

    assert speedrun(workflow).state == "finished"
    assert done == [0, 0, 1, 2]


def test_the_cursor_and_the_iterations_are_as_asserted(geneva: gd.Drive) -> None:
    workflow = importing(through(range(9), []))
    run_iterations(workflow, "rows", count=2)

    assert_cursor(workflow, 2)
    assert_iterations(workflow, 2)


def test_the_cursor_and_the_iterations_of_a_step_that_is_done_are_asserted_too(
    geneva: gd.Drive,
) -> None:
    workflow = importing(through(range(3), []))
    speedrun_resumable_step(workflow, "rows")

    assert_cursor(workflow, None)
    assert_iterations(workflow, 3)


def test_the_cursor_and_the_iterations_of_a_further_attempt_are_asserted(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(9), done, lambda self, item: len(done) == 3 and self.reattempt())
    )
    run_iterations(workflow, "rows", count=5)

    assert_cursor(workflow, 2)
    assert_iterations(workflow, 2)


def test_a_wrong_cursor_is_told_with_the_story(geneva: gd.Drive) -> None:
    workflow = importing(through(range(9), []))
    execution = run_iterations(workflow, "rows", count=1)

    with pytest.raises(AssertionError) as failure:
        assert_cursor(workflow, 7)

    assert str(failure.value) == (
        f"Step 'rows' is at cursor 1, not 7.\n"
        f"Its executions:\n"
        f"  <StepExecution {execution.id} 'rows' attempt 1: suspended> "
    )


@pytest.mark.parametrize("expected", [True, 1.0, "1"], ids=repr)
def test_a_cursor_of_another_type_is_another_cursor(geneva: gd.Drive, expected: object) -> None:
    workflow = importing(through(range(9), []))
    run_iterations(workflow, "rows", count=1)

    with pytest.raises(AssertionError, match=f"is at cursor 1, not {expected!r}"):
        assert_cursor(workflow, expected)


def test_a_wrong_count_is_told_with_the_story(geneva: gd.Drive) -> None:
    workflow = importing(through(range(9), []))
    execution = run_iterations(workflow, "rows", count=1)

    with pytest.raises(AssertionError) as failure:
        assert_iterations(workflow, 2)

    assert str(failure.value) == (
        f"Step 'rows' has done 1 items, not 2.\n"
        f"Its executions:\n"
        f"  <StepExecution {execution.id} 'rows' attempt 1: suspended> "
    )


def test_a_workflow_that_has_not_looped_has_no_cursor_to_assert(geneva: gd.Drive) -> None:
    workflow = importing(through(range(9), []))

    with pytest.raises(AssertionError) as failure:
        assert_cursor(workflow, None)

    [execution] = workflow.step_executions
    assert str(failure.value) == (
        f"No step of Import {workflow.id} has iterated.\n"
        f"Its executions:\n"
        f"  <StepExecution {execution.id} 'rows' attempt 1: scheduled> "
    )


def test_a_crash_comes_after_the_item_and_before_its_checkpoint(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(9), done))

    with crash_after(items=3):
        drain(geneva)

    assert done == [0, 1, 2]
    assert_cursor(workflow, 2)
    assert_iterations(workflow, 2)


def test_a_crash_ends_a_loop_of_ones_own_before_its_cursor_is_saved(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        while True:
            it.advance()

    workflow = importing(body)
    with crash_after(items=4):
        run_iterations(workflow, "rows", count=9)

    assert_cursor(workflow, 3)


def test_a_loop_that_does_not_get_that_far_is_an_assertion_error(geneva: gd.Drive) -> None:
    workflow = importing(through(range(2), []))

    with pytest.raises(AssertionError) as failure, crash_after(items=3):
        drain(geneva)

    assert str(failure.value) == "No execution reached the point 'item'."
    assert workflow.reload().state == "finished"
