"""A worker that stops lets bodies end, and gives back what does not."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Table

import geneva_drive as gd
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.worker import committer
from tests.worker.conftest import MakeDrive, effects_of
from tests.worker.faults import outage
from tests.worker.watching import TIME_LIMIT, rows_of, wait, wait_until, wait_until_draining


def _recoveries(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> list[int]:
    with drive.store.reading() as connection:
        records = drive.store.executions.of_workflow(connection, workflow.id)
    return [record.recoveries for record in records]


def _wait_for_the_threads() -> None:
    wait_until(
        lambda: all(thread.name != "geneva-step" for thread in threading.enumerate()),
        "the worker's threads have ended",
    )


def test_a_body_that_ends_while_its_worker_drains_is_recorded_once(geneva: gd.Drive) -> None:
    all_begun, release = threading.Barrier(4, timeout=TIME_LIMIT), threading.Event()

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            all_begun.wait()
            wait(release)

    tasks = [Task.create() for _ in range(3)]
    worker = geneva.worker(concurrency=3)
    worker.start()
    all_begun.wait()
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    wait_until_draining()
    release.set()
    stopping.join(TIME_LIMIT)

    assert [rows_of(task) for task in tasks] == [[("work", "completed", "success")]] * 3


def test_a_body_that_does_not_end_in_time_is_given_back_and_its_late_result_dropped(
    geneva: gd.Drive, make_drive: MakeDrive, caplog: pytest.LogCaptureFixture
) -> None:
    drive = make_drive(drain_timeout=0.05)
    begun, release = threading.Event(), threading.Event()

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            begun.set()
            wait(release)

    task = Task.create()
    with drive.worker():
        wait(begun)

    given_back = [("work", "failed", "recovered"), ("work", "scheduled", None)]
    assert rows_of(task) == given_back
    first = task.step_executions[0]
    assert first.error_message == "Its worker was stopped before it ended."

    release.set()
    _wait_for_the_threads()
    assert rows_of(task) == given_back
    assert f"The late result of execution {first.id} was dropped" in caplog.messages


def test_giving_back_is_not_counted_as_a_recovery(geneva: gd.Drive, make_drive: MakeDrive) -> None:
    drive = make_drive(drain_timeout=0, max_recoveries=0)
    begun, release = threading.Semaphore(0), threading.Event()

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            begun.release()
            wait(release)

    task = Task.create()
    for _ in range(3):
        with drive.worker():
            assert begun.acquire(timeout=TIME_LIMIT)
    release.set()
    _wait_for_the_threads()

    assert task.reload().state == "ready"
    assert rows_of(task) == [("work", "failed", "recovered")] * 3 + [("work", "scheduled", None)]
    assert _recoveries(drive, task) == [0, 0, 0, 0]


# SQLite's one writer is this body itself: nobody else could give it back.
@pytest.mark.databases("postgresql", "mysql")
def test_the_body_of_a_transaction_that_does_not_end_in_time_leaves_nothing_behind(
    geneva: gd.Drive, make_drive: MakeDrive, effects: Table
) -> None:
    drive = make_drive(drain_timeout=0.05)
    begun, release = threading.Event(), threading.Event()

    class Task(gd.Workflow):
        @gd.step(transaction=True)
        def work(self, session: Any) -> None:
            session.execute(effects.insert().values(name="work"))
            begun.set()
            wait(release)

    task = Task.create()
    with drive.worker():
        wait(begun)
    release.set()
    _wait_for_the_threads()

    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "scheduled", None)]
    assert effects_of(geneva, effects) == []


def test_a_worker_stops_although_the_database_is_away(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(drain_timeout=0.05)
    begun, release = threading.Event(), threading.Event()

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            begun.set()
            wait(release)

    task = Task.create()
    worker = drive.worker()
    worker.start()
    wait(begun)
    with outage(drive):
        stopping = threading.Thread(target=worker.stop)
        stopping.start()
        stopping.join(TIME_LIMIT)
        assert not stopping.is_alive()
    release.set()
    _wait_for_the_threads()

    assert rows_of(task) == [("work", "in_progress", None)]


@pytest.mark.usefixtures("chains_as_long_as_they_like")
def test_what_follows_a_step_whose_commit_took_too_long_is_not_begun(
    geneva: gd.Drive, make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = make_drive(drain_timeout=0.05)
    # It is given up only where it was to be, however long a thread takes to begin.
    monkeypatch.setattr("geneva_drive.worker.poller._LONGEST_WAIT", timedelta(hours=1))
    committing = threading.Event()
    bodies: list[str] = []
    worker = drive.worker(concurrency=1)

    def commit_late(*arguments: Any) -> Any:
        committing.set()
        wait(worker._stopping.drained)
        return commit_endings(*arguments)

    monkeypatch.setattr(committer, "commit_endings", commit_late)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            bodies.append("work")

        @gd.step
        def rest(self) -> None:
            bodies.append("rest")

    task = Task.create()
    worker.start()
    wait(committing)
    worker.stop()
    _wait_for_the_threads()

    assert bodies == ["work"]
    assert rows_of(task) == [
        ("work", "completed", "success"),
        ("rest", "failed", "recovered"),
        ("rest", "scheduled", None),
    ]


def test_stopping_twice_at_once_waits_for_the_same_end(geneva: gd.Drive) -> None:
    begun, release = threading.Event(), threading.Event()

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            begun.set()
            wait(release)

    task = Task.create()
    worker = geneva.worker()
    worker.start()
    wait(begun)
    both = [threading.Thread(target=worker.stop) for _ in range(2)]
    for stopping in both:
        stopping.start()
    wait_until_draining()
    release.set()
    for stopping in both:
        stopping.join(TIME_LIMIT)

    assert not any(stopping.is_alive() for stopping in both)
    assert rows_of(task) == [("work", "completed", "success")]
