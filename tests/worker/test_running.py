"""A worker runs workflows to their end."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from sqlalchemy import event, select

import geneva_drive as gd
from tests.worker.conftest import MakeDrive
from tests.worker.watching import TIME_LIMIT, Watch, wait, wait_until


def test_an_embedded_worker_runs_workflows_to_their_end(geneva: gd.Drive, watch: Watch) -> None:
    class Order(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step
        def charge(self) -> None: ...

        @gd.step
        def ship(self) -> None: ...

    with geneva.worker(concurrency=4):
        workflows = [Order.create() for _ in range(10)]
        watch.wait_for_workflows(10)

    assert [w.reload().state for w in workflows] == ["finished"] * 10
    assert [
        (e.step_name, e.attempt_number, e.state, e.outcome) for e in workflows[3].step_executions
    ] == [
        ("reserve", 1, "completed", "success"),
        ("charge", 1, "completed", "success"),
        ("ship", 1, "completed", "success"),
    ]


def test_run_until_idle_returns_when_nothing_is_due_any_more(geneva: gd.Drive) -> None:
    class Letter(gd.Workflow):
        @gd.step
        def write(self) -> None: ...

        @gd.step
        def send(self) -> None: ...

        @gd.step(wait=3600)
        def remind(self) -> None: ...

    workflows = [Letter.create() for _ in range(5)]

    geneva.worker(concurrency=2).run_until_idle()

    assert [w.reload().next_step_name for w in workflows] == ["remind"] * 5
    assert [w.state for w in workflows] == ["ready"] * 5


def test_run_until_idle_waits_for_chains_that_went_back_to_the_queue(geneva: gd.Drive) -> None:
    class Errand(gd.Workflow):
        @gd.step
        def leave(self) -> None: ...

        @gd.step(priority=-1)
        def arrive(self) -> None: ...

    for _ in range(10):
        # Whoever comes second finds its next step outranked, so that it is not chained.
        workflows = [Errand.create() for _ in range(2)]
        geneva.worker(concurrency=2).run_until_idle()

        assert [w.reload().state for w in workflows] == ["finished", "finished"]


@pytest.mark.databases("postgresql", "mysql")  # SQLite locks no rows
def test_run_until_idle_waits_for_what_others_lock(geneva: gd.Drive, make_drive: MakeDrive) -> None:
    locked, release = threading.Event(), threading.Event()
    ran: list[Any] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            ran.append(self.id)

    tasks = [Task.create().id for _ in range(3)]
    table = geneva.store.tables.step_executions
    heads = select(table.c.id).where(table.c.workflow_id.in_(tasks)).with_for_update()

    def lock_all() -> None:
        with geneva.engine.connect() as connection:
            connection.execute(heads).all()
            locked.set()
            wait(release)

    locking = threading.Thread(target=lock_all)
    locking.start()
    wait(locked)
    drive = make_drive(poll_interval="20ms", notify="off")
    asked: list[str] = []

    @event.listens_for(drive.engine, "after_cursor_execute")
    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    working = threading.Thread(target=drive.worker(concurrency=1).run_until_idle)
    working.start()
    wait_until(lambda: len(asked) > 40, "several looks in vain")
    assert ran == []
    release.set()
    locking.join(TIME_LIMIT)
    working.join(TIME_LIMIT)

    assert sorted(ran) == tasks


def test_run_works_until_it_is_asked_to_stop(geneva: gd.Drive, watch: Watch) -> None:
    class Visit(gd.Workflow):
        @gd.step
        def knock(self) -> None: ...

    worker = geneva.worker()
    running = threading.Thread(target=worker.run)
    running.start()
    workflow = Visit.create()
    watch.wait_for_workflows(1)

    worker.request_stop()
    running.join(TIME_LIMIT)

    assert not running.is_alive()
    assert workflow.reload().state == "finished"


def test_bodies_run_at_the_same_time(geneva: gd.Drive, watch: Watch) -> None:
    all_there = threading.Barrier(4, timeout=TIME_LIMIT)

    class Meeting(gd.Workflow):
        @gd.step
        def meet(self) -> None:
            all_there.wait()

    workflows = [Meeting.create() for _ in range(4)]
    with geneva.worker(concurrency=4):
        watch.wait_for_workflows(4)

    assert [w.reload().state for w in workflows] == ["finished"] * 4


def test_async_and_plain_bodies_run_side_by_side(geneva: gd.Drive, watch: Watch) -> None:
    ready = threading.Barrier(4, timeout=TIME_LIMIT)
    threads: dict[str, set[str]] = {"plain": set(), "async": set()}

    class Plain(gd.Workflow):
        @gd.step
        def meet(self) -> None:
            threads["plain"].add(threading.current_thread().name)
            ready.wait()

    class Async(gd.Workflow):
        @gd.step
        async def meet(self) -> None:
            threads["async"].add(threading.current_thread().name)
            await asyncio.to_thread(ready.wait)

    for workflow_class in (Plain, Async, Plain, Async):
        workflow_class.create()
    with geneva.worker(concurrency=4):
        watch.wait_for_workflows(4)

    assert threads == {"plain": {"geneva-step"}, "async": {"geneva-async"}}


def test_a_worker_needs_at_least_one_slot(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        geneva.worker(concurrency=0)

    assert str(refusal.value) == "A worker's concurrency must be at least 1, got 0."


def test_a_worker_is_started_once(geneva: gd.Drive) -> None:
    worker = geneva.worker()
    with worker:
        pass

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        worker.start()

    assert str(refusal.value) == "This worker was started before; make a new one."


def test_a_worker_that_was_never_started_may_be_stopped(geneva: gd.Drive) -> None:
    worker = geneva.worker()

    worker.stop()

    assert geneva.workers == []


# SQLite has one writer: such steps follow one another.
@pytest.mark.databases("postgresql", "mysql")
def test_steps_with_a_transaction_each_have_a_connection(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive()
    all_there = threading.Barrier(24, timeout=TIME_LIMIT)
    everyone = threading.Event()

    class Audit(gd.Workflow):
        @gd.step(transaction=True)
        def look(self, session: object) -> None:
            if all_there.wait() == 0:
                everyone.set()

    workflows = [Audit.create() for _ in range(24)]
    with drive.worker(concurrency=24):
        wait(everyone)
        assert [worker.is_alive for worker in drive.workers] == [True]

    assert [w.reload().state for w in workflows] == ["finished"] * 24
