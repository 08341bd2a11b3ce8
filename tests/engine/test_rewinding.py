"""Loops that are made to start over, by their step or by an operator."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import drain, perform_next_step, run_iterations, speedrun
from tests.looking import history, last
from tests.looping import importing, places, through


def _raise(self: Any) -> NoReturn:
    raise ValueError("no")


def failing_at_third(done: list[int], **options: Any) -> gd.WorkflowHandle[Any]:
    """Create a loop over four items that fails once, at the third."""
    return importing(
        through(range(4), done, lambda self, item: len(done) == 3 and _raise(self)), **options
    )


def test_a_step_may_start_over_by_itself(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(4), done, lambda self, _: len(done) == 3 and self.reattempt(rewind=True))
    )
    drain(geneva)

    assert done == [0, 1, 2, 0, 1, 2, 3]
    assert history(workflow)[0] == ("rows", "completed", "reattempted")
    assert [p.iterations for p in places(workflow)] == [2, 4]


def test_a_handler_may_let_the_step_start_over(geneva: gd.Drive) -> None:
    done: list[int] = []

    def start_over(self: Any, error: BaseException) -> None:
        self.reattempt(rewind=True)

    failing = failing_at_third(done, on_exception=start_over)
    drain(geneva)

    assert done == [0, 1, 2, 0, 1, 2, 3]
    assert failing.reload().state == "finished"


def test_an_operator_rewinds_a_suspended_loop(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(3), done))
    run_iterations(workflow, "rows", count=2)

    workflow.rewind("rows", reason="wrong file", actor="ada")
    speedrun(workflow)

    assert done == [0, 1, 0, 1, 2]
    assert history(workflow)[:2] == [
        ("rows", "canceled", "canceled_by_operator"),
        ("rows", "completed", "success"),
    ]
    assert places(workflow) == [
        ("canceled", "max_iterations", 2, 2),
        ("completed", None, None, 3),
    ]
    [entry] = workflow.audit_entries
    assert (entry.command, entry.reason, entry.actor) == ("rewind", "wrong file", "ada")


def test_an_operator_chooses_the_cursor_to_go_on_from(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(5), done))
    run_iterations(workflow, "rows", count=4)

    workflow.rewind("rows", to=2)
    assert places(workflow)[1] == ("scheduled", None, 2, 0)

    speedrun(workflow)
    assert done == [0, 1, 2, 3, 2, 3, 4]


def test_zero_is_a_cursor_to_rewind_to(geneva: gd.Drive) -> None:
    found: list[tuple[object, bool]] = []
    workflow = importing(lambda self, it: found.append((it.cursor, it.resumed)))

    workflow.rewind("rows", to=0)
    speedrun(workflow)

    assert found == [(0, True)]


def test_a_failed_loop_is_rewound_and_runs_once_it_is_resumed(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = failing_at_third(done)
    drain(geneva)

    workflow.rewind("rows")
    assert workflow.state == "paused"
    assert drain(geneva) == 0
    workflow.resume()
    drain(geneva)

    assert done == [0, 1, 2, 0, 1, 2, 3]
    assert workflow.reload().state == "finished"


def test_a_loop_that_is_rewound_is_paused_since_it_was_paused(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = failing_at_third([])
    drain(geneva)
    since = workflow.reload().paused_at
    geneva_clock.advance("1h")

    workflow.rewind("rows")

    assert workflow.reload().paused_at == since


def test_a_rewound_loop_begins_with_its_start_again(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(5), done), start=2)
    run_iterations(workflow, "rows", count=2)

    workflow.rewind("rows")
    speedrun(workflow)

    assert done == [2, 3, 2, 3, 4]


def test_a_rewound_loop_has_all_its_iterations_again(geneva: gd.Drive) -> None:
    workflow = importing(through(range(4), []), iteration_limit=4)
    run_iterations(workflow, "rows", count=3)

    workflow.rewind("rows")
    speedrun(workflow)

    assert workflow.state == "finished"


@pytest.mark.parametrize(
    ("rewind", "done_after"),
    [(False, [0, 1, 2, 2, 3]), (True, [0, 1, 2, 0, 1, 2, 3])],
    ids=["from its cursor", "from the start"],
)
def test_reattempting_a_failed_loop_goes_on_or_starts_over(
    geneva: gd.Drive, rewind: bool, done_after: list[int]
) -> None:
    done: list[int] = []
    workflow = failing_at_third(done)
    drain(geneva)

    workflow.reattempt("rows", rewind=rewind)
    drain(geneva)

    assert done == done_after
    assert workflow.reload().state == "finished"


def test_a_step_that_does_not_loop_cannot_be_rewound(geneva: gd.Drive) -> None:
    workflow = importing(lambda self, it: None)
    perform_next_step(workflow)

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        workflow.rewind("report")

    assert str(refusal.value) == (
        "Cannot rewind step 'report': it is not a resumable step and has no cursor. To run it "
        "again, use reattempt."
    )
    assert last(workflow.reload()).state == "scheduled"
    assert workflow.audit_entries == []


def test_a_loop_that_the_workflow_does_not_stand_at_cannot_be_rewound(geneva: gd.Drive) -> None:
    workflow = importing(lambda self, it: None)
    perform_next_step(workflow)

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        workflow.rewind("rows")

    assert str(refusal.value) == "Cannot rewind step 'rows': the workflow is at step 'report'."


def test_a_workflow_that_is_over_cannot_be_rewound(geneva: gd.Drive) -> None:
    workflow = speedrun(importing(lambda self, it: None))

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        workflow.rewind("rows")

    assert str(refusal.value) == "Cannot rewind a step of a finished workflow."


def test_a_loop_that_runs_cannot_be_rewound(geneva: gd.Drive) -> None:
    workflow = importing(lambda self, it: self.handle.rewind("rows"))
    perform_next_step(workflow)

    assert last(workflow).error_message == (
        "Cannot rewind a step of a performing workflow. A running step is not interrupted: pause "
        "the workflow, and try again once the step has stopped."
    )


def test_a_step_that_does_not_exist_cannot_be_rewound(geneva: gd.Drive) -> None:
    workflow = importing(lambda self, it: None)

    with pytest.raises(gd.errors.StepNotDefined) as refusal:
        workflow.rewind("columns")

    assert str(refusal.value) == (
        "Workflow 'Import' has no step 'columns'. Its steps are: rows, report."
    )


def test_a_cursor_that_cannot_be_stored_is_refused(geneva: gd.Drive) -> None:
    workflow = importing(through(range(3), []))
    run_iterations(workflow, "rows", count=2)

    with pytest.raises(gd.errors.CursorTooLarge) as refusal:
        workflow.rewind("rows", to="x" * 200_000)

    assert str(refusal.value) == (
        "The cursor is 200,002 bytes as JSON; the limit is 131,072 bytes. Keep a key in it, not "
        "the data, or raise the setting max_cursor_size."
    )
    assert places(workflow) == [("suspended", "max_iterations", 2, 2)]
