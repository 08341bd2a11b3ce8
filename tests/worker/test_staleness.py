"""Workflows that make no progress for longer than `stale_after` become dead letters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.engine.recovery.stale_workflows import find_suspects, report_stale
from geneva_drive.errors import StepConfigurationError
from geneva_drive.testing import drain, perform_next_step, perform_step_inline, run_iterations
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.housekeeping.stale_workflows import StaleWorkflows
from geneva_drive.worker.identity import Identity
from tests.looking import pending_dead_letters
from tests.worker.conftest import MakeDrive

Handle = gd.WorkflowHandle[Any]

HOUR = timedelta(hours=1)


class Task(gd.Workflow[Any]):
    type_name = "test_staleness.Task"
    stale_after = HOUR

    @gd.step
    def work(self) -> None: ...

    @gd.step(wait=timedelta(days=1))
    def rest(self) -> None: ...


class Long(Task):
    type_name = "test_staleness.Long"
    stale_after = 3 * HOUR


class Unwatched(gd.Workflow[Any]):
    type_name = "test_staleness.Unwatched"

    @gd.step
    def work(self) -> None: ...


class Loading(gd.Workflow[Any]):
    type_name = "test_staleness.Loading"
    stale_after = HOUR

    @gd.resumable_step
    def load(self, it: gd.IterableStep) -> None:
        for item in it.iterate_over(range(4)):
            ACTS[item]()


class Pair(gd.Workflow[Any]):
    type_name = "test_staleness.Pair"
    stale_after = "1h"

    @gd.task
    def left(self) -> None: ...

    @gd.task
    def right(self) -> None: ...


ACTS: dict[int, Any] = {}


@contextmanager
def _worker(drive: gd.Drive) -> Iterator[Identity]:
    worker = Identity(name="shop:1")
    worker.register(drive.store, drive.settings.lease)
    yield worker


def _reported(drive: gd.Drive) -> int:
    """Do one round of the duty."""
    return StaleWorkflows()(drive.environment).changed


def _held(drive: gd.Drive, count: int = 10) -> None:
    """Leave what is due in the hands of a worker that is alive, but does nothing."""
    with _worker(drive) as worker:
        claim_due(drive.environment, worker, count)


def test_work_that_no_worker_takes_is_reported_and_not_stopped(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = Task.create()
    geneva_clock.advance(HOUR - timedelta(minutes=1))
    assert _reported(geneva) == 0
    geneva_clock.advance(timedelta(minutes=2))
    before = workflow.reload().updated_at

    assert _reported(geneva) == 1

    [entry] = geneva.dead_letters.list()
    assert (entry.workflow_id, entry.step_name) == (workflow.id, "work")
    assert (entry.reason, entry.snapshot["nodes"]) == ("staleness_timeout", {"work": "scheduled"})
    assert (workflow.reload().state, workflow.updated_at) == ("ready", before)
    assert _reported(geneva) == 0
    assert drain(geneva) == 1


def test_a_step_that_runs_for_too_long_is_reported(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    Task.create()
    geneva_clock.advance(2 * HOUR)
    _held(geneva)
    assert _reported(geneva) == 0
    geneva_clock.advance(HOUR)

    assert _reported(geneva) == 1

    [entry] = geneva.dead_letters.list()
    assert entry.snapshot["nodes"] == {"work": "in_progress"}
    assert entry.snapshot["worker"] is not None


def test_a_class_has_its_own_span_and_others_inherit_it(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    class Child(Task):
        type_name = "test_staleness.Child"

    child, _, _ = Child.create(), Long.create(), Unwatched.create()
    geneva_clock.advance(2 * HOUR)

    _reported(geneva)

    assert [entry.workflow_id for entry in geneva.dead_letters.list()] == [child.id]


def test_the_setting_is_for_classes_without_a_span(
    geneva: gd.Drive, geneva_clock: ShiftedClock, make_drive: MakeDrive
) -> None:
    unwatched, task = Unwatched.create(), Long.create()
    drive = make_drive(stale_after="30m", clock=geneva_clock)
    geneva_clock.advance(HOUR)

    assert _reported(geneva) == 0
    assert _reported(drive) == 1

    assert [entry.workflow_id for entry in geneva.dead_letters.list()] == [unwatched.id]
    assert task.reload().state == "ready"


@pytest.mark.parametrize("rests", ["sleeps", "is paused", "waits for a person"])
def test_a_workflow_that_rests_is_not_stale(
    geneva: gd.Drive, geneva_clock: ShiftedClock, rests: str
) -> None:
    class Asking(gd.Workflow[Any]):
        stale_after = HOUR

        @gd.approval(role="manager")
        def agree(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    if rests == "is paused":
        Task.create().pause()
    else:
        (Task if rests == "sleeps" else Asking).create()
    drain(geneva)
    geneva_clock.advance(2 * HOUR)

    assert _reported(geneva) == 0
    assert pending_dead_letters(geneva) == []


def test_a_loop_that_saves_checkpoints_is_not_stale_and_one_that_hangs_is(
    geneva: gd.Drive, geneva_clock: ShiftedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("geneva_drive.iteration.progress._EVERY_SECONDS", 0)
    reported: list[int] = []

    def look() -> None:
        geneva_clock.advance(timedelta(minutes=40))
        reported.append(_reported(geneva))

    def hang() -> None:
        geneva_clock.advance(2 * HOUR)
        reported.append(_reported(geneva))

    ACTS.update({0: look, 1: look, 2: look, 3: hang})
    workflow = Loading.create()

    drain(geneva)

    assert reported == [0, 0, 0, 1]
    [entry] = geneva.dead_letters.list()
    assert entry.workflow_id == workflow.id
    assert entry.snapshot["checkpoint"] == {
        "cursor": 3,
        "completed_iterations": 3,
        "item_errors": 0,
    }


def test_a_loop_that_was_suspended_for_long_has_its_time_again_when_it_is_due(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    ACTS.update(dict.fromkeys(range(4), lambda: None))
    workflow = Loading.create()
    run_iterations(workflow, "load", count=2)
    workflow.pause()
    geneva_clock.advance(2 * HOUR)
    workflow.resume()

    assert _reported(geneva) == 0
    geneva_clock.advance(HOUR)
    assert _reported(geneva) == 1


def test_a_node_that_starts_is_progress_of_the_whole_workflow(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    Pair.create()
    _held(geneva, 1)
    geneva_clock.advance(2 * HOUR)
    _held(geneva, 1)

    assert _reported(geneva) == 0
    geneva_clock.advance(HOUR)
    assert _reported(geneva) == 1


def test_progress_between_the_search_and_the_report_counts(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = Task.create()
    geneva_clock.advance(2 * HOUR)
    suspects = find_suspects(geneva.environment, 10)
    perform_next_step(workflow)

    assert report_stale(geneva.environment, list(suspects.values())) == 0
    assert geneva.dead_letters.list() == []


def test_a_resolved_entry_is_not_repeated_before_the_workflow_has_moved(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = Pair.create()
    geneva_clock.advance(HOUR)
    assert _reported(geneva) == 1
    [entry] = geneva.dead_letters.list()
    geneva.dead_letters.resolve(entry.id, actor="ann", notes="we know")
    geneva_clock.advance(HOUR)
    assert _reported(geneva) == 0

    perform_step_inline(workflow, "left")
    geneva_clock.advance(HOUR)

    assert _reported(geneva) == 1


def test_a_running_step_that_was_resolved_is_not_reported_again(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    Task.create()
    _held(geneva)
    geneva_clock.advance(HOUR)
    assert _reported(geneva) == 1
    [entry] = geneva.dead_letters.list()

    geneva.dead_letters.resolve(entry.id, actor="ann", notes="it takes long")

    assert _reported(geneva) == 0


def test_housekeeping_reports_stale_workflows(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    Task.create()
    geneva_clock.advance(HOUR)

    assert geneva.housekeep() == 1

    assert pending_dead_letters(geneva) == ["staleness_timeout"]


def test_nothing_is_asked_if_no_class_has_a_span(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("geneva_drive.definition.registry.definitions", list)
    monkeypatch.setattr(geneva.environment.store, "reading", None)

    assert find_suspects(geneva.environment, 10) == {}


@pytest.mark.parametrize(
    ("span", "message"),
    [
        (
            "soon",
            "stale_after: 'soon' is not a duration (a timedelta, seconds, or text such as '30s').",
        ),
        (0, "stale_after must be longer than zero, got 0."),
    ],
    ids=["no duration", "zero"],
)
def test_a_class_refuses_what_is_no_span(span: Any, message: str) -> None:
    with pytest.raises(StepConfigurationError) as refusal:

        class Wrong(gd.Workflow[Any]):
            stale_after = span

            @gd.step
            def work(self) -> None: ...

    assert str(refusal.value).rpartition(" (/")[0] == f"Wrong: {message}"
