"""What was claimed ahead and finds no free thread is given back as if nobody had claimed it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.worker import performer as performer_module
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.claims.prefetch import Prefetch
from geneva_drive.worker.flights import Flight, Flights
from geneva_drive.worker.identity import Identity
from geneva_drive.worker.performer import Performer, Stopping
from tests.worker.conftest import MakeDrive
from tests.worker.watching import (
    TIME_LIMIT,
    Watch,
    rows_of,
    wait,
    wait_until,
    wait_until_draining,
)

NOW = timedelta(0)
DONE = [("work", "completed", "success")]
RUNNING = [("work", "in_progress", None)]
WAITING = [("work", "scheduled", None)]


class _Jam:
    """Tasks of which the first one to run holds its thread until it is released."""

    def __init__(self) -> None:
        self.begun, self._release = threading.Semaphore(0), threading.Event()
        self.ran: list[tuple[Any, int]] = []
        jam = self

        class Task(gd.Workflow):
            @gd.step
            def work(self) -> None:
                jam.ran.append((self.id, self.attempt))
                jam.begun.release()
                if len(jam.ran) == 1:
                    jam.hold()

        self.tasks = [Task.create() for _ in range(3)]

    def hold(self) -> None:
        wait(self._release)

    def wait_until_begun(self) -> None:
        assert self.begun.acquire(timeout=TIME_LIMIT)

    def release(self) -> None:
        self._release.set()

    def rows(self) -> list[Any]:
        return [rows_of(task) for task in self.tasks]


@pytest.fixture
def jam(geneva: gd.Drive) -> Iterator[_Jam]:
    made = _Jam()
    yield made
    made.release()


class _Eager(Prefetch):
    """Holds five ready from the beginning, until it has to give some back."""

    has_stalled = False

    def stalled(self) -> None:
        self.has_stalled = True

    def ahead(self) -> int:
        return 0 if self.has_stalled else 5


@pytest.fixture
def _eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(performer_module, "Prefetch", _Eager)


@contextmanager
def _performing(
    drive: gd.Drive, jam: _Jam, may_begin: Callable[[], bool] = lambda: True
) -> Iterator[Performer]:
    """One thread, which runs the first task, and two tasks that wait for it."""
    identity = Identity()
    performer = Performer(
        drive.environment,
        identity,
        Flights(),
        concurrency=1,
        stopping=Stopping(),
        on_free=lambda: None,
        may_begin=may_begin,
    )
    performer.start()
    performer.submit(claim_due(drive.environment, identity, limit=3))
    jam.wait_until_begun()
    yield performer
    jam.release()
    assert performer.drain(TIME_LIMIT)
    performer.stop()


def test_what_waits_for_a_thread_too_long_is_given_back_as_it_was(
    geneva: gd.Drive, jam: _Jam
) -> None:
    store = geneva.store
    with store.reading() as connection:
        before = [store.executions.of_workflow(connection, task.id) for task in jam.tasks]

    with _performing(geneva, jam) as performer:
        performer.release_waiting(NOW)
        with store.reading() as connection:
            after = [store.executions.of_workflow(connection, task.id) for task in jam.tasks]
        running = [execution.state for execution in after[0]]

    assert running == ["in_progress"]
    assert after[1:] == before[1:]


def test_a_workflow_whose_step_only_waited_for_a_thread_has_not_started(
    geneva: gd.Drive, jam: _Jam
) -> None:
    with _performing(geneva, jam) as performer:
        performer.release_waiting(NOW)

    assert [task.reload().started_at is not None for task in jam.tasks] == [True, False, False]


def test_what_was_given_back_is_not_run_by_the_thread_that_is_free_later(
    geneva: gd.Drive, jam: _Jam
) -> None:
    with _performing(geneva, jam) as performer:
        performer.release_waiting(NOW)

    assert jam.ran == [(jam.tasks[0].id, 1)]
    assert jam.rows() == [DONE, WAITING, WAITING]


def test_what_was_given_back_is_run_by_another_worker_as_its_first_attempt(
    geneva: gd.Drive, jam: _Jam
) -> None:
    with _performing(geneva, jam) as performer:
        performer.release_waiting(NOW)
        geneva.worker().run_until_idle()
        while_the_first_runs = jam.rows()

    assert while_the_first_runs == [RUNNING, DONE, DONE]
    assert sorted(jam.ran) == [(task.id, 1) for task in jam.tasks]


def test_what_waits_for_a_shorter_time_is_kept(geneva: gd.Drive, jam: _Jam) -> None:
    with _performing(geneva, jam) as performer:
        performer.release_waiting(timedelta(minutes=1))
        while_the_first_runs = jam.rows()
        jam.release()
        wait_until(lambda: not performer.flights, "all have landed")

    assert while_the_first_runs == [RUNNING] * 3
    assert jam.rows() == [DONE] * 3


@pytest.mark.usefixtures("_eager")
def test_who_had_to_give_back_claims_no_more_than_it_has_threads_for(
    geneva: gd.Drive, jam: _Jam
) -> None:
    with _performing(geneva, jam) as performer:
        before = performer.free
        performer.release_waiting(NOW)
        after = performer.free

    assert (before, after) == (3, 0)


def test_a_flight_is_given_up_only_before_a_thread_has_begun_it(
    geneva: gd.Drive, jam: _Jam
) -> None:
    begun, waiting, given_up = (
        Flight(one) for one in claim_due(geneva.environment, Identity(), limit=3)
    )
    assert begun.start()
    now = float("inf")

    assert not begun.settle_waiting(since=now)
    assert not waiting.settle_waiting(since=0)
    assert given_up.settle_waiting(since=now)

    assert waiting.start()
    assert not given_up.start()
    assert not given_up.settle()


@pytest.mark.usefixtures("_eager")
def test_a_worker_claims_more_than_it_has_threads_for(
    geneva: gd.Drive, watch: Watch, jam: _Jam
) -> None:
    with geneva.worker(concurrency=1):
        jam.wait_until_begun()
        watch.wait_for_steps(3, "in_progress")
        jam.release()
        wait_until(lambda: jam.rows() == [DONE] * 3, "all three are done")

    assert sorted(jam.ran) == [(task.id, 1) for task in jam.tasks]


@pytest.mark.usefixtures("_eager")
def test_a_worker_gives_back_what_it_has_no_thread_for_and_another_runs_it(
    geneva: gd.Drive, make_drive: MakeDrive, jam: _Jam
) -> None:
    busy, idle = make_drive(poll_interval=0.05), make_drive(poll_interval=0.05)
    watch = Watch(busy)

    with busy.worker(concurrency=1):
        jam.wait_until_begun()
        watch.wait_for_steps(3, "in_progress")
        with idle.worker(concurrency=2):
            wait_until(lambda: jam.rows() == [RUNNING, DONE, DONE], "another has run two of them")
            jam.release()

    assert sorted(jam.ran) == [(task.id, 1) for task in jam.tasks]
    assert jam.rows() == [DONE] * 3


@pytest.mark.usefixtures("_eager")
def test_a_worker_that_stops_gives_back_at_once_what_no_thread_has_begun(
    geneva: gd.Drive, watch: Watch, jam: _Jam
) -> None:
    worker = geneva.worker(concurrency=1)
    worker.start()
    jam.wait_until_begun()
    watch.wait_for_steps(3, "in_progress")

    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    wait_until_draining()
    wait_until(lambda: jam.rows() == [RUNNING, WAITING, WAITING], "two are given back")
    jam.release()
    stopping.join(TIME_LIMIT)

    assert jam.ran == [(jam.tasks[0].id, 1)]
    assert jam.rows() == [DONE, WAITING, WAITING]


def test_a_worker_past_its_lease_begins_nothing_that_it_holds_and_claims_nothing(
    geneva: gd.Drive, jam: _Jam
) -> None:
    is_within_lease = [True]
    with _performing(geneva, jam, lambda: is_within_lease[0]) as performer:
        is_within_lease[0] = False
        assert performer.free == 0
        jam.release()
        assert performer.drain(TIME_LIMIT)

    history = [[(e.state, e.attempt_number) for e in task.step_executions] for task in jam.tasks]
    assert history == [[("completed", 1)], [("scheduled", 1)], [("scheduled", 1)]]
    assert [task.reload().started_at is not None for task in jam.tasks] == [True, False, False]
