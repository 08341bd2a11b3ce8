"""How far a loop has come: for those who wait for it, over all its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.cli.output import loops
from geneva_drive.engine.loops import step_loop
from geneva_drive.iteration.progress import IterationProgress, Stopwatch
from geneva_drive.testing import crash_after, drain, perform_next_step, run_iterations, speedrun
from tests.looping import importing, importing_in_transactions


class Seconds:
    """Time that a test lets pass."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now(self) -> float:
        return self.passed

    def advance(self, seconds: float) -> None:
        self.passed += seconds


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    """The time by which loops are measured."""
    seconds = Seconds()
    monkeypatch.setattr(step_loop, "Stopwatch", partial(Stopwatch, clock=seconds.now))
    return seconds


@pytest.fixture
def told(geneva: gd.Drive) -> Iterator[list[gd.StepProgressed]]:
    """The progress that subscribers are told of."""
    told: list[gd.StepProgressed] = []

    def hear(event: object) -> None:
        if isinstance(event, gd.StepProgressed):
            told.append(event)

    unsubscribe = geneva.events.subscribe(hear, progress=True)
    yield told
    unsubscribe()


def taking(
    seconds: Seconds, each: float, total: int | Callable[[], int] | None
) -> Callable[[Any, Any], None]:
    """A body whose eight items take so many seconds each."""

    def body(self: Any, it: gd.IterableStep) -> None:
        it.progress(total=total)
        for _ in it.iterate_over(range(8)):
            seconds.advance(each)

    return body


def test_a_step_that_does_not_loop_has_no_progress(geneva: gd.Drive) -> None:
    class Plain(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    assert speedrun(Plain.create()).step_executions[0].progress is None


def test_the_body_sees_how_far_it_is(geneva: gd.Drive, seconds: Seconds) -> None:
    seen: list[IterationProgress] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        for item in it.iterate_over(range(4)):
            seconds.advance(2)
            if item == 2:
                seen.append(it.progress(total=10))

    speedrun(importing(body))

    [progress] = seen
    assert progress == IterationProgress(done=2, total=10, elapsed=timedelta(seconds=6))


def test_progress_is_that_of_all_runs_together(geneva: gd.Drive, seconds: Seconds) -> None:
    workflow = importing(taking(seconds, 0.5, total=8), max_iterations=3)
    first = perform_next_step(workflow)
    second = perform_next_step(workflow)

    assert first is not None
    assert second is not None
    assert first.progress == IterationProgress(done=3, total=8, elapsed=timedelta(seconds=1.5))
    assert second.progress == IterationProgress(done=6, total=8, elapsed=timedelta(seconds=3))
    assert (second.progress.rate, second.progress.fraction) == (2.0, 0.75)
    assert second.progress.remaining == timedelta(seconds=1)


def test_progress_stays_readable_when_all_is_done(geneva: gd.Drive, seconds: Seconds) -> None:
    workflow = speedrun(importing(taking(seconds, 1, total=8)))

    progress = workflow.step_executions[0].progress
    assert progress == IterationProgress(done=8, total=8, elapsed=timedelta(seconds=8))
    assert progress.fraction == 1.0
    assert progress.remaining == timedelta(0)


def test_without_a_total_nobody_knows_what_is_left(geneva: gd.Drive, seconds: Seconds) -> None:
    workflow = importing(taking(seconds, 1, total=None), max_iterations=2)
    perform_next_step(workflow)

    progress = workflow.step_executions[0].progress
    assert progress == IterationProgress(done=2, total=None, elapsed=timedelta(seconds=2))
    assert (progress.rate, progress.fraction, progress.remaining) == (1.0, None, None)


def test_a_total_that_has_to_be_counted_is_counted_once(geneva: gd.Drive, seconds: Seconds) -> None:
    counted: list[int] = []

    def count() -> int:
        counted.append(8)
        return 8

    workflow = speedrun(importing(taking(seconds, 1, total=count), max_iterations=3))

    assert counted == [8]
    progress = workflow.step_executions[0].progress
    assert progress is not None
    assert progress.total == 8


def test_a_further_attempt_goes_on_measuring(geneva: gd.Drive, seconds: Seconds) -> None:
    done: list[int] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        it.progress(total=4)
        for item in it.iterate_over(range(4)):
            seconds.advance(1)
            done.append(item)
            if len(done) == 3:
                raise ValueError("no")

    workflow = importing(body, on_exception="reattempt")
    drain(geneva)

    assert [e.progress for e in workflow.reload().step_executions] == [
        IterationProgress(done=2, total=4, elapsed=timedelta(seconds=3)),
        IterationProgress(done=4, total=4, elapsed=timedelta(seconds=5)),
        None,
    ]


def test_while_a_loop_runs_its_progress_is_told_at_first_and_then_once_a_second(
    geneva: gd.Drive, seconds: Seconds, told: list[gd.StepProgressed]
) -> None:
    workflow = importing(taking(seconds, 0.4, total=10))
    with crash_after(items=7):
        drain(geneva)

    [execution] = workflow.reload().step_executions
    assert [(event.done, event.cursor) for event in told] == [(1, 1), (4, 4)]
    # The count is that of each checkpoint; the time was last written with the fourth.
    progress = execution.progress
    assert progress == IterationProgress(done=6, total=10, elapsed=timedelta(seconds=1.6))
    assert (progress.rate, progress.remaining) == (2.5, timedelta(seconds=1.6))
    event = told[1]
    assert (event.workflow_id, event.type) == (workflow.id, "Import")
    assert (event.execution_id, event.step_name) == (execution.id, "rows")
    assert event.total == 10
    assert event.rate == pytest.approx(2.5)
    assert event.remaining == timedelta(seconds=2.4)


def test_a_loop_that_is_over_within_a_second_tells_that_it_began_and_all_of_it(
    geneva: gd.Drive, seconds: Seconds, told: list[gd.StepProgressed]
) -> None:
    workflow = speedrun(importing(taking(seconds, 0.1, total=8)))

    assert [(event.done, event.cursor) for event in told] == [(1, 1), (8, None)]
    assert (told[1].total, told[1].remaining) == (8, timedelta(0))
    assert told[1].rate == pytest.approx(10)
    progress = workflow.step_executions[0].progress
    assert progress is not None
    assert progress.elapsed == timedelta(seconds=0.8)


def test_the_last_progress_of_a_loop_is_told_once_it_is_committed(
    geneva: gd.Drive, seconds: Seconds
) -> None:
    told: list[tuple[str, object]] = []

    def hear(event: object) -> None:
        if isinstance(event, gd.StepProgressed):
            told.append(("done", event.done))
            told.append(("found", workflow.reload().step_executions[0].state))
        elif isinstance(event, gd.StepChanged) and event.step_name == "rows":
            told.append(("changed", event.to_state))

    workflow = importing(taking(seconds, 0.1, total=8), checkpoint_every=10)
    unsubscribe = geneva.events.subscribe(hear, progress=True)
    drain(geneva)
    unsubscribe()

    assert told == [
        ("changed", "in_progress"),
        ("done", 8),
        ("found", "completed"),
        ("changed", "completed"),
    ]


def test_a_loop_with_transactions_tells_all_of_it_too(
    geneva: gd.Drive, told: list[gd.StepProgressed]
) -> None:
    workflow = importing_in_transactions(
        lambda self, it, session: list(it.iterate_over(range(5))), checkpoint_every=3
    )
    speedrun(workflow)

    assert [event.done for event in told] == [3, 5]


def test_a_loop_without_items_tells_nothing(
    geneva: gd.Drive, told: list[gd.StepProgressed]
) -> None:
    speedrun(importing(lambda self, it: list(it.iterate_over([]))))

    assert told == []


def test_a_loop_that_is_not_done_tells_no_end(
    geneva: gd.Drive, seconds: Seconds, told: list[gd.StepProgressed]
) -> None:
    workflow = importing(taking(seconds, 0.1, total=8))
    run_iterations(workflow, "rows", count=5)

    assert [event.done for event in told] == [1]


def test_nothing_is_left_of_a_loop_that_was_ended_early(geneva: gd.Drive, seconds: Seconds) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        it.progress(total=8)
        for item in it.iterate_over(range(8)):
            seconds.advance(1)
            if item == 4:
                break

    workflow = speedrun(importing(body))

    progress = workflow.step_executions[0].progress
    assert progress is not None
    assert (progress.done, progress.total, progress.remaining) == (4, 8, timedelta(0))


def test_progress_is_told_with_checkpoints_only(
    geneva: gd.Drive, seconds: Seconds, told: list[gd.StepProgressed]
) -> None:
    workflow = importing(taking(seconds, 5, total=8), checkpoint_every=4)
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert [event.done for event in told] == [4, 8]


def test_who_does_not_ask_for_progress_is_told_of_states_only(
    geneva: gd.Drive, seconds: Seconds
) -> None:
    kinds: set[str] = set()
    unsubscribe = geneva.events.subscribe(lambda event: kinds.add(type(event).__name__))
    workflow = speedrun(importing(taking(seconds, 5, total=8)))
    unsubscribe()

    assert workflow.state == "finished"
    assert kinds == {"StepChanged", "WorkflowChanged"}


def test_a_subscriber_that_raises_on_progress_harms_no_loop(
    geneva: gd.Drive, seconds: Seconds, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: object) -> None:
        if isinstance(event, gd.StepProgressed):
            raise RuntimeError("no")  # noqa: TRY004 - any error will do

    unsubscribe = geneva.events.subscribe(broken, progress=True)
    workflow = speedrun(importing(taking(seconds, 5, total=8)))
    unsubscribe()

    assert workflow.state == "finished"
    assert sum("failed on StepProgressed" in line for line in caplog.messages) == 8


def test_a_rewound_loop_measures_anew(geneva: gd.Drive, seconds: Seconds) -> None:
    workflow = importing(taking(seconds, 1, total=8))
    run_iterations(workflow, "rows", count=5)
    workflow.rewind("rows")

    execution = run_iterations(workflow, "rows", count=2)

    assert execution.progress == IterationProgress(done=2, total=8, elapsed=timedelta(seconds=2))


def test_of_a_loop_that_was_rewound_to_a_cursor_nobody_knows_how_much_is_left(
    geneva: gd.Drive, seconds: Seconds, told: list[gd.StepProgressed]
) -> None:
    workflow = importing(taking(seconds, 2, total=8))
    run_iterations(workflow, "rows", count=5)
    workflow.rewind("rows", to=4)

    assert workflow.step_executions[-1].progress is None
    told.clear()
    execution = run_iterations(workflow, "rows", count=2)
    progress = execution.progress
    assert progress == IterationProgress(done=2, total=8, elapsed=timedelta(seconds=4))
    assert (progress.rate, progress.fraction, progress.remaining) == (0.5, None, None)
    assert [event.remaining for event in told] == [None]

    speedrun(workflow)
    ended = next(e for e in workflow.step_executions if e.id == execution.id).progress
    assert ended is not None
    assert (ended.done, ended.fraction, ended.remaining) == (4, None, timedelta(0))


def test_a_further_attempt_at_a_rewound_loop_is_rewound_too(geneva: gd.Drive) -> None:
    workflow = importing(lambda self, it: [1 / 0 for _ in it.iterate_over(range(8))])
    speedrun(workflow)
    workflow.rewind("rows", to=4).resume()
    speedrun(workflow).resume()

    progress = run_iterations(workflow, "rows", count=1).progress
    assert progress is not None
    assert progress.is_rewound


def test_the_shares_of_a_rewound_step_are_rewound_too(geneva: gd.Drive, seconds: Seconds) -> None:
    workflow = importing(taking(seconds, 2, total=8), partitions=2)
    workflow.rewind("rows", to=4)
    speedrun(workflow)

    shares = [e.progress for e in workflow.step_executions if e.node_id.startswith("rows[")]
    assert [(p.done, p.is_rewound) for p in shares if p is not None] == [(2, True), (2, True)]


LETTERS = "letter\na\nb\nc\nd\n"


def test_a_csv_file_is_counted_in_bytes(geneva: gd.Drive, tmp_path: Path, seconds: Seconds) -> None:
    path = tmp_path / "letters.csv"
    path.write_text(LETTERS)

    def body(self: Any, it: gd.IterableStep) -> None:
        for row in it.iterate_over_csv(path):
            if row["letter"] == "c" and not it.resumed:
                self.suspend(wait="1h")
            seconds.advance(1)

    workflow = importing(body)
    execution = perform_next_step(workflow)

    assert execution is not None
    progress = execution.progress
    assert progress is not None
    assert (progress.done, progress.total, progress.unit) == (11, 15, "bytes")
    assert (progress.rate, progress.remaining) == (5.5, timedelta(seconds=4 / 5.5))
    assert loops.words(progress) == "11 of 15 bytes, 5.5/s, 1 s left"
    assert workflow.reload().why().endswith(" (11 of 15 bytes done).")
    speedrun(workflow)
    progress = workflow.step_executions[0].progress
    assert progress is not None
    assert (progress.done, progress.fraction) == (15, 1.0)


def test_a_csv_file_that_grows_between_two_runs_is_measured_anew(
    geneva: gd.Drive, tmp_path: Path
) -> None:
    path = tmp_path / "letters.csv"
    path.write_text(LETTERS)
    workflow = importing(lambda self, it: list(it.iterate_over_csv(path)))
    run_iterations(workflow, "rows", count=2)
    path.write_text(LETTERS + "e\n")

    progress = run_iterations(workflow, "rows", count=1).progress

    assert progress is not None
    assert (progress.done, progress.total) == (13, 17)


@pytest.mark.parametrize("total", [4, lambda: 4], ids=["number", "callable"])
def test_a_total_of_ones_own_counts_the_items_of_a_csv_file(
    geneva: gd.Drive, tmp_path: Path, total: Any
) -> None:
    path = tmp_path / "letters.csv"
    path.write_text(LETTERS)

    def body(self: Any, it: gd.IterableStep) -> None:
        rows = it.iterate_over_csv(path)
        it.progress(total=total)
        list(rows)

    progress = run_iterations(importing(body), "rows", count=2).progress

    assert progress is not None
    assert (progress.done, progress.total, progress.unit) == (2, 4, "items")


def test_a_csv_file_that_was_rewound_counts_its_items_from_there(
    geneva: gd.Drive, tmp_path: Path
) -> None:
    path = tmp_path / "letters.csv"
    path.write_text(LETTERS)
    workflow = importing(lambda self, it: list(it.iterate_over_csv(path)))
    cursor = run_iterations(workflow, "rows", count=2).cursor
    workflow.reload().pause()
    workflow.rewind("rows", to=cursor).resume()

    progress = run_iterations(workflow, "rows", count=1).progress

    assert progress is not None
    assert (progress.done, progress.total, progress.unit) == (1, None, "items")
