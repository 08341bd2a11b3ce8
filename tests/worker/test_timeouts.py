"""A body past its timeout loses its claim, and a plain one keeps only its thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.worker.thread_pool import Pool
from tests.looping import importing, places, through
from tests.worker.watching import TIME_LIMIT, Watch, rows_of, wait, wait_until


def _hanging() -> tuple[type[gd.Workflow[Any]], threading.Event]:
    """Return a class whose step outlasts its timeout, and the event that lets it end."""
    release = threading.Event()

    class Hung(gd.Workflow):
        @gd.step(timeout=0.05)
        def hang(self) -> None:
            wait(release)

    return Hung, release


def test_a_plain_body_past_its_timeout_is_recorded_and_its_late_result_dropped(
    geneva: gd.Drive, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()

    class Task(gd.Workflow):
        @gd.step(timeout=0.05, keep_result=True)
        def hang(self) -> str:
            wait(release)
            return "too late"

    task = Task.create()
    with geneva.worker(concurrency=2):
        watch.wait_for_workflows(1, "paused")
        release.set()
        _wait_until_dropped(caplog)

    [execution] = task.reload().step_executions
    assert (execution.state, execution.outcome) == ("failed", "timed_out")
    assert execution.error_class == "geneva_drive.errors.StepTimedOut"
    assert execution.error_message == "Step 'hang' ran longer than its timeout of 0:00:00.050000."
    assert execution.result is None
    assert task.state == "paused"


def test_a_body_past_its_timeout_is_recorded_although_no_thread_can_be_started(
    geneva: gd.Drive, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung, release = _hanging()

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    def refuse(_: Pool) -> None:
        raise RuntimeError("can't start new thread")

    hung.create()
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    with geneva.worker(concurrency=1):
        monkeypatch.setattr(Pool, "_start_thread", refuse)
        watch.wait_for_workflows(1, "paused")
        task = Task.create()
        release.set()  # its thread goes on with what comes next
        watch.wait_for_workflows(1, "finished")

    assert task.reload().state == "finished"


def test_the_thread_of_a_hung_body_is_replaced(geneva: gd.Drive, watch: Watch) -> None:
    hung, release = _hanging()

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    hung.create()
    with geneva.worker(concurrency=1):
        watch.wait_for_workflows(1, "paused")
        task = Task.create()
        watch.wait_for_workflows(1, "finished")
        release.set()

    assert task.reload().state == "finished"


def test_a_worker_whose_threads_all_hang_recycles_itself(geneva: gd.Drive, watch: Watch) -> None:
    hung, release = _hanging()

    for _ in range(2):
        hung.create()
    worker = geneva.worker(concurrency=2)
    running = threading.Thread(target=worker.run)
    running.start()
    running.join(TIME_LIMIT)
    release.set()

    assert not running.is_alive()
    assert worker.needs_recycling
    assert [e.outcome for e in geneva.executions()] == ["timed_out", "timed_out"]


def test_a_worker_with_a_thread_to_spare_goes_on(geneva: gd.Drive, watch: Watch) -> None:
    hung, release = _hanging()

    hung.create()
    with geneva.worker(concurrency=2) as worker:
        watch.wait_for_workflows(1, "paused")
        assert not worker.needs_recycling
        release.set()


def test_a_timeout_goes_through_the_policy_of_the_step(
    geneva: gd.Drive, watch: Watch, time_is_up: Callable[[], None]
) -> None:
    release = threading.Event()

    class Task(gd.Workflow):
        @gd.step(timeout=3600, on_exception="reattempt", max_reattempts=1)
        def work(self) -> None:
            if self.attempt == 1:
                time_is_up()
                wait(release)

    task = Task.create()
    with geneva.worker():
        watch.wait_for_workflows(1)
        release.set()

    assert rows_of(task) == [("work", "failed", "timed_out"), ("work", "completed", "success")]


def test_an_async_body_past_its_timeout_is_cancelled(geneva: gd.Drive) -> None:
    ended: list[str] = []

    class Task(gd.Workflow):
        @gd.step(timeout=0.05)
        async def hang(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")

    task = Task.create()

    worker = geneva.worker(concurrency=1)
    worker.run_until_idle()

    assert ended == ["cancelled"]
    assert rows_of(task) == [("hang", "failed", "timed_out")]
    assert not worker.needs_recycling


def test_a_body_that_ends_while_its_timeout_is_recorded_costs_no_thread(
    geneva: gd.Drive, watch: Watch
) -> None:
    class Late(gd.Workflow):
        @gd.step(timeout=0.05, on_exception="skip")
        def overrun(self) -> None:
            # As long as the timeout, and a little: both ends meet again and again.
            threading.Event().wait(0.0505)

    for _ in range(24):
        Late.create()
    # More threads than can hang at a time: else a slow machine would have it recycled.
    with geneva.worker(concurrency=32) as worker:
        watch.wait_for_workflows(24)
        wait_until(lambda: _step_threads() == 32, "as many threads as the worker was given")

    assert not worker.needs_recycling


def _wait_until_dropped(caplog: pytest.LogCaptureFixture) -> None:
    wait_until(
        lambda: any("The late result of" in message for message in caplog.messages),
        "the late result is dropped",
    )


def _step_threads() -> int:
    return sum(thread.name == "geneva-step" for thread in threading.enumerate())


def test_an_item_that_hangs_keeps_the_cursor_before_it(
    geneva: gd.Drive,
    watch: Watch,
    caplog: pytest.LogCaptureFixture,
    time_is_up: Callable[[], None],
) -> None:
    release, done = threading.Event(), list[str]()

    def hang_at_b(self: Any, letter: str) -> None:
        if letter == "b" and self.attempt == 1:
            time_is_up()
            wait(release)

    workflow = importing(through("abc", done, hang_at_b), timeout=3600, on_exception="reattempt")
    with geneva.worker(concurrency=2):
        watch.wait_for_workflows(1)
        release.set()
        _wait_until_dropped(caplog)

    assert done == ["a", "b", "b", "c"]
    assert places(workflow) == [("failed", None, 1, 1), ("completed", None, None, 3)]
    assert rows_of(workflow)[0] == ("rows", "failed", "timed_out")


def test_a_body_that_was_left_behind_does_no_further_item(
    geneva: gd.Drive,
    watch: Watch,
    caplog: pytest.LogCaptureFixture,
    time_is_up: Callable[[], None],
) -> None:
    release, done = threading.Event(), list[str]()

    def hang(*_: Any) -> None:
        time_is_up()
        wait(release)

    workflow = importing(through("abc", done, hang), timeout=0.001, checkpoint_every=100)
    with geneva.worker(concurrency=2):
        watch.wait_for_workflows(1, "paused")
        release.set()
        wait_until(
            lambda: any("The late result of" in message for message in caplog.messages),
            "the late result is dropped",
        )

    assert done == ["a"]
    assert places(workflow) == [("failed", None, None, 0)]
