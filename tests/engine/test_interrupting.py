"""Loops that stop between two items, and the same execution that goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.engine.loops.early_stops import EarlyStops
from geneva_drive.testing import crash_after, drain, perform_next_step, speedrun, time_travel
from geneva_drive.worker import inline_worker
from tests.limiting import occupy
from tests.looking import error_of, history, last
from tests.looping import importing, place, places, reasons, through, wait_of
from tests.worker.watching import Watch, stop_during_a_step, wait

MICROSECOND, HOUR = timedelta(microseconds=1), timedelta(hours=1)


@pytest.fixture
def watch(geneva: gd.Drive) -> Iterator[Watch]:
    watching = Watch(geneva)
    yield watching
    watching.end()


def at(item: int, act: Callable[[Any], object]) -> Callable[[Any, int], None]:
    """Do something with the workflow when the loop is at an item."""

    def then(self: Any, now_at: int) -> None:
        if now_at == item:
            act(self)

    return then


def test_a_transport_of_another_kind_stops_a_loop_at_its_next_checkpoint(
    geneva: gd.Drive,
) -> None:
    stopping = threading.Event()
    done: list[int] = []
    workflow = importing(through(range(5), done, at(1, lambda _: stopping.set())))
    [execution] = workflow.step_executions

    inline_worker.run_one(geneva.environment, execution.id, EarlyStops(should_stop=stopping.is_set))

    assert place(last(workflow.reload())) == ("suspended", "shutdown", 2, 2)
    assert done == [0, 1]


def test_a_loop_that_has_done_its_share_is_suspended_and_the_same_execution_goes_on(
    geneva: gd.Drive,
) -> None:
    done: list[int] = []
    workflow = importing(through(range(5), done), max_iterations=2)
    first = perform_next_step(workflow)

    assert first is not None
    assert place(first) == ("suspended", "max_iterations", 2, 2)
    assert (workflow.state, workflow.next_step_name) == ("ready", "rows")
    assert (first.outcome, first.finished_at) == (None, None)

    speedrun(workflow)
    assert done == [0, 1, 2, 3, 4]
    [execution, _] = workflow.step_executions
    assert (execution.id, execution.attempt_number) == (first.id, 1)
    assert reasons(execution) == [
        ("max_iterations", 2, 2),
        ("max_iterations", 4, 4),
        ("success", 5, 5),
    ]


def test_max_iterations_is_for_each_run_and_counts_what_it_did_itself(geneva: gd.Drive) -> None:
    runs: list[list[int]] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        runs.append([])
        for item in it.iterate_over(range(5)):
            runs[-1].append(item)

    speedrun(importing(body, max_iterations=2, checkpoint_every=100))

    assert runs == [[0, 1], [2, 3], [4]]


def test_a_run_past_its_time_ends_after_at_least_one_item(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(3), done), max_runtime=MICROSECOND)
    perform_next_step(workflow)

    assert done == [0]
    assert places(workflow) == [("suspended", "max_runtime", 1, 1)]

    speedrun(workflow)
    assert done == [0, 1, 2]
    assert reasons(workflow.step_executions[0]) == [
        ("max_runtime", 1, 1),
        ("max_runtime", 2, 2),
        ("max_runtime", 3, 3),
        ("success", 3, 3),
    ]


def test_suspend_goes_on_with_the_item_that_it_was_called_at(geneva: gd.Drive) -> None:
    done: list[int] = []
    runs = iter(["first", "second"])

    def body(self: Any, it: gd.IterableStep) -> None:
        run = next(runs)
        for item in it.iterate_over(range(3)):
            done.append(item)
            if item == 1 and run == "first":
                self.suspend()

    workflow = importing(body)
    perform_next_step(workflow)
    assert places(workflow) == [("suspended", "suspend", 1, 1)]

    speedrun(workflow)
    assert done == [0, 1, 1, 2]


@pytest.mark.parametrize("wait", [HOUR, 3600, 3600.0], ids=repr)
def test_suspend_waits_as_long_as_it_is_told_by_the_drives_clock(
    geneva: gd.Drive, geneva_clock: ShiftedClock, wait: timedelta | float
) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(2), done, lambda self, item: done == [0] and self.suspend(wait=wait))
    )
    drain(geneva)
    geneva_clock.advance(timedelta(minutes=59))

    assert drain(geneva) == 0
    assert places(workflow) == [("suspended", "suspend", None, 0)]

    geneva_clock.advance(timedelta(minutes=2))
    assert drain(geneva) == 2
    assert done == [0, 0, 1]


def test_suspend_refuses_a_negative_wait_as_the_step_raising(geneva: gd.Drive) -> None:
    workflow = importing(lambda self, it: self.suspend(wait=-1))
    perform_next_step(workflow)

    assert last(workflow).error_message == "suspend(wait=...): -1 is negative."


def test_suspend_outside_a_resumable_step_is_an_error_of_the_step(geneva: gd.Drive) -> None:
    class Plain(gd.Workflow):
        @gd.step
        def only(self) -> None:
            self.suspend()

    workflow = Plain.create()
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidStateError",
        "Plain.suspend() is for resumable steps, which have a cursor to go on from. Declare the "
        "step with @gd.resumable_step, or use self.reattempt().",
    )
    assert workflow.state == "paused"


def test_skip_to_moves_the_cursor_and_goes_on_from_there(geneva: gd.Drive) -> None:
    seen: list[object] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        seen.append(it.cursor)
        if it.cursor is None:
            it.skip_to("token-2")

    workflow = importing(body)
    perform_next_step(workflow)
    assert places(workflow) == [("suspended", "skip_to", "token-2", 1)]

    assert drain(geneva) == 2
    assert seen == [None, "token-2"]


def test_skip_to_waits_as_long_as_it_is_told(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    seen: list[object] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        seen.append(it.cursor)
        if it.cursor is None:
            it.skip_to(7, wait=3600)

    workflow = importing(body)
    drain(geneva)
    assert wait_of(geneva, workflow) > timedelta(minutes=59)

    geneva_clock.advance(timedelta(minutes=59))
    assert drain(geneva) == 0
    geneva_clock.advance(timedelta(minutes=2))
    assert drain(geneva) == 2
    assert seen == [None, 7]


def test_skip_to_refuses_a_negative_wait_and_the_cursor_stays(geneva: gd.Drive) -> None:
    workflow = importing(lambda self, it: it.skip_to(7, wait=-1))
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        "skip_to(wait=...): -1 is negative.",
    )
    assert places(workflow) == [("failed", None, None, 0)]


def test_an_interruption_passes_through_the_users_own_except_exception(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        try:
            it.skip_to(7)
        except Exception:  # noqa: BLE001 - it is what is tested
            raise AssertionError("swallowed") from None

    workflow = importing(body)
    perform_next_step(workflow)

    assert places(workflow) == [("suspended", "skip_to", 7, 1)]


def test_the_total_of_iterations_is_bounded_over_all_runs(geneva: gd.Drive) -> None:
    done: list[int] = []

    workflow = speedrun(
        importing(through(range(9), done), iteration_limit=5, max_iterations=2, keep_result=True)
    )

    assert done == [0, 1, 2, 3, 4]
    assert error_of(last(workflow)) == (
        "geneva_drive.errors.IterationLimitExceeded",
        "Step 'rows' has reached its iteration_limit of 5, and there are more items. "
        "Check whether it loops forever; if not, raise iteration_limit and resume.",
    )
    assert (workflow.state, places(workflow)) == (
        "paused",
        [("failed", "max_iterations", 5, 5)],
    )


def test_a_loop_of_exactly_as_many_items_as_allowed_completes(geneva: gd.Drive) -> None:
    workflow = speedrun(importing(through(range(5), []), iteration_limit=5))

    assert workflow.state == "finished"


def test_the_total_also_bounds_a_loop_of_ones_own(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        while True:
            it.advance()

    workflow = speedrun(importing(body, iteration_limit=3, on_exception="cancel"))

    assert history(workflow) == [("rows", "failed", "canceled_by_exception")]
    assert places(workflow) == [("failed", None, 3, 3)]


def test_the_total_also_bounds_a_step_that_skips_for_ever(geneva: gd.Drive) -> None:
    workflow = speedrun(importing(lambda self, it: it.skip_to(it.cursor), iteration_limit=3))

    assert places(workflow) == [("failed", "skip_to", None, 3)]


def test_a_worker_that_stops_suspends_its_loops_between_two_items(geneva: gd.Drive) -> None:
    done: list[int] = []
    begun, release = threading.Event(), threading.Event()

    def pause_at_one(self: Any) -> None:
        begun.set()
        wait(release)

    workflow = importing(through(range(1000), done, at(1, pause_at_one)), checkpoint_every=500)
    stop_during_a_step(geneva, begun, release)

    assert done == [0, 1]
    assert places(workflow) == [("suspended", "shutdown", 2, 2)]
    drain(geneva)
    assert done == list(range(1000))
    assert [e.attempt_number for e in workflow.reload().step_executions] == [1, 1]


def test_a_pause_by_command_is_honoured_at_the_next_checkpoint(
    geneva: gd.Drive, watch: Watch
) -> None:
    done: list[int] = []
    begun, release = threading.Event(), threading.Event()

    def stand(self: Any) -> None:
        begun.set()
        wait(release)

    workflow = importing(through(range(4), done, at(1, stand)))
    with geneva.worker():
        wait(begun)
        workflow.pause(reason="too many mails")
        assert (workflow.state, workflow.requested) == ("performing", "pause")
        release.set()
        watch.wait_for_workflows(1, "paused")

    assert done == [0, 1]
    assert places(workflow) == [("suspended", "paused", 2, 2)]
    assert (workflow.state, workflow.requested) == ("paused", None)
    assert workflow.paused_reason == "too many mails"


def test_a_paused_loop_is_held_until_it_is_resumed_and_goes_on_at_its_cursor(
    geneva: gd.Drive,
) -> None:
    done: list[int] = []
    workflow = importing(through(range(4), done, at(1, lambda self: self.handle.pause())))
    drain(geneva)
    paused = workflow.reload().current_execution
    assert paused is not None
    assert place(paused) == ("suspended", "paused", 2, 2)

    with time_travel(timedelta(days=9), geneva):
        assert drain(geneva) == 0
    workflow.resume()
    assert drain(geneva) == 2

    assert done == [0, 1, 2, 3]
    resumed, _ = workflow.reload().step_executions
    assert (resumed.id, resumed.attempt_number) == (paused.id, 1)


def test_a_pause_waits_for_the_checkpoint_and_not_for_the_item(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(9), done, at(1, lambda self: self.handle.pause())), checkpoint_every=4
    )
    drain(geneva)

    assert done == [0, 1, 2, 3]
    assert places(workflow) == [("suspended", "paused", 4, 4)]


def test_resuming_before_the_checkpoint_withdraws_the_pause(geneva: gd.Drive) -> None:
    done: list[int] = []

    def change_ones_mind(self: Any) -> None:
        self.handle.pause()
        self.handle.resume()

    workflow = importing(through(range(4), done, at(1, change_ones_mind)), max_iterations=9)
    drain(geneva)

    assert done == [0, 1, 2, 3]
    assert workflow.reload().state == "finished"
    assert places(workflow) == [("completed", None, None, 4)]


def test_a_pause_that_a_loop_does_not_live_to_see_takes_effect_when_it_ends(
    geneva: gd.Drive,
) -> None:
    workflow = importing(
        through(range(2), [], at(1, lambda self: self.handle.pause())), checkpoint_every=9
    )
    drain(geneva)

    assert workflow.reload().state == "paused"
    assert history(workflow) == [("rows", "completed", "success"), ("report", "scheduled", None)]


def test_a_cancel_by_command_ends_the_loop_at_the_next_checkpoint(
    geneva: gd.Drive, watch: Watch
) -> None:
    done: list[int] = []
    begun, release = threading.Event(), threading.Event()

    def stand(self: Any) -> None:
        begun.set()
        wait(release)

    workflow = importing(through(range(4), done, at(1, stand)))
    with geneva.worker():
        wait(begun)
        workflow.cancel()
        release.set()
        watch.wait_for_workflows(1, "canceled")

    assert done == [0, 1]
    assert history(workflow.reload()) == [("rows", "canceled", "canceled_by_operator")]
    assert places(workflow) == [("canceled", "canceled", 2, 2)]
    assert workflow.state == "canceled"


def test_a_cancel_replaces_a_pause_that_has_not_taken_effect(geneva: gd.Drive) -> None:
    def pause_and_cancel(self: Any) -> None:
        self.handle.pause()
        self.handle.cancel()

    workflow = importing(through(range(4), [], at(1, pause_and_cancel)))
    drain(geneva)

    assert places(workflow) == [("canceled", "canceled", 2, 2)]


def test_a_suspended_loop_can_be_paused_and_resumed_and_canceled(geneva: gd.Drive) -> None:
    workflow = importing(through(range(4), []), max_iterations=1)
    perform_next_step(workflow)

    workflow.pause()
    assert drain(geneva) == 0
    assert places(workflow) == [("suspended", "max_iterations", 1, 1)]
    workflow.resume()
    perform_next_step(workflow)
    workflow.cancel()

    assert history(workflow) == [("rows", "canceled", "canceled_by_operator")]
    assert places(workflow) == [("canceled", "max_iterations", 2, 2)]


def test_a_resumed_loop_still_waits_until_its_time(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = importing(through(range(2), [], lambda self, item: self.suspend(wait=HOUR)))
    drain(geneva)
    workflow.pause()
    workflow.resume()

    assert drain(geneva) == 0
    geneva_clock.advance(timedelta(minutes=61))
    assert drain(geneva) == 1


def test_a_loop_that_lost_its_claim_stops_and_writes_nothing(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(5), done, at(2, lambda self: self.handle.cancel(force=True)))
    )
    drain(geneva)

    assert done == [0, 1, 2]
    assert history(workflow.reload()) == [("rows", "canceled", "canceled_by_operator")]
    assert places(workflow) == [("canceled", None, 2, 2)]


def test_a_pause_outlives_the_worker_that_was_to_honour_it(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(4), done, at(2, lambda self: len(done) == 3 and self.handle.pause()))
    )
    with crash_after(items=3):
        drain(geneva)
    drain(geneva)

    assert workflow.reload().state == "paused"
    assert places(workflow) == [("failed", None, 2, 2), ("scheduled", None, 2, 2)]
    workflow.resume()
    drain(geneva)
    assert done == [0, 1, 2, 2, 3]


def test_a_suspended_loop_that_finds_no_slot_goes_on_at_its_cursor_when_there_is_one(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    done: list[tuple[str, int]] = []

    class Export(gd.Workflow):
        @gd.resumable_step(limit=gd.Limit(concurrency=1))
        def write(self, it: gd.IterableStep) -> None:
            for item in it.iterate_over(range(3)):
                done.append((self.context["name"], item))
                if len(done) == 2:
                    self.suspend(wait=60)

    first = Export.create(context={"name": "first"})
    drain(geneva)
    second = Export.create(context={"name": "second"})
    occupy(geneva)
    geneva_clock.advance(timedelta(minutes=2))
    assert drain(geneva) == 0
    [waiting] = first.reload().step_executions
    assert (waiting.cursor, waiting.completed_iterations) == (1, 1)

    second.cancel(force=True)
    geneva_clock.advance(timedelta(minutes=2))
    drain(geneva)

    assert done == [("first", 0), ("first", 1), ("first", 1), ("first", 2)]
    assert (first.reload().state, len(first.step_executions)) == ("finished", 1)


def test_a_suspended_execution_is_told_of_as_such(geneva: gd.Drive, watch: Watch) -> None:
    workflow = importing(through(range(2), []), max_iterations=1)
    perform_next_step(workflow)
    perform_next_step(workflow)

    assert [(e.from_state, e.to_state) for e in watch.steps("suspended")] == [
        ("in_progress", "suspended"),
        ("in_progress", "suspended"),
    ]
    assert [(e.from_state, e.to_state) for e in watch.steps("in_progress")] == [
        ("scheduled", "in_progress"),
        ("suspended", "in_progress"),
    ]
