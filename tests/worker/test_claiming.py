"""Which executions a worker takes, and how many at once."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import distinct, event, func, select, text

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.identity import Identity
from tests.worker.conftest import MakeDrive
from tests.worker.watching import TIME_LIMIT, Watch


def test_one_claim_takes_as_many_as_there_are_free_slots(geneva: gd.Drive, watch: Watch) -> None:
    executions = geneva.store.tables.step_executions.c
    tokens: list[Any] = []

    def look() -> None:
        with geneva.store.reading() as connection:
            query = select(func.count(), func.count(distinct(executions.claim_token)))
            in_progress = query.where(executions.state == "in_progress")
            tokens.append(tuple(connection.execute(in_progress).one()))

    all_there = threading.Barrier(6, action=look, timeout=TIME_LIMIT)

    class Meeting(gd.Workflow):
        @gd.step
        def meet(self) -> None:
            all_there.wait()

    for _ in range(6):
        Meeting.create()
    with geneva.worker(concurrency=6):
        watch.wait_for_workflows(6)

    assert tokens == [(6, 1)]


def test_a_claim_takes_no_more_than_its_limit(geneva: gd.Drive) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    workflows = [Task.create() for _ in range(7)]

    claimed = claim_due(geneva.environment, Identity(), limit=3)

    assert [one.workflow.id for one in claimed] == [w.id for w in workflows[:3]]
    assert geneva.executions(state="in_progress").count() == 3
    assert geneva.executions(state="scheduled").count() == 4


@pytest.mark.databases("postgresql")  # only PostgreSQL would run the inner query again for each row
def test_a_claim_keeps_to_its_limit_whatever_plan_the_database_makes(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    for _ in range(40):
        Task.create()
    drive = make_drive()

    @event.listens_for(drive.engine, "begin")
    def plan_nested_loops(connection: Any) -> None:
        for method in ("hashagg", "sort", "hashjoin", "mergejoin", "material"):
            # Not SET LOCAL: the claim may be a transaction by itself.
            connection.execute(text(f"SET enable_{method} = off"))

    with drive.engine.begin() as connection:
        connection.execute(text(f"ANALYZE {drive.store.tables.step_executions.name}"))

    assert len(claim_due(drive.environment, Identity(), limit=3)) == 3


def test_a_worker_serves_the_queues_it_was_given(geneva: gd.Drive) -> None:
    class Mail(gd.Workflow):
        queue = "mail"

        @gd.step
        def send(self) -> None: ...

    class Report(gd.Workflow):
        @gd.step
        def write(self) -> None: ...

    mail, report, urgent = Mail.create(), Report.create(), Report.create(queue="urgent")

    geneva.worker(queues=["mail", "urgent"]).run_until_idle()

    assert [w.reload().state for w in (mail, report, urgent)] == ["finished", "ready", "finished"]


def test_what_is_more_urgent_runs_first_and_otherwise_what_is_older(geneva: gd.Drive) -> None:
    ran: list[str] = []

    class Ward(gd.Workflow):
        @gd.step
        def treat(self) -> None:
            ran.append(self.context["name"])

    for name, priority in [("cold", 0), ("cough", 0), ("fracture", 5), ("burn", 9), ("itch", -1)]:
        Ward.create(context={"name": name}, priority=priority)

    geneva.worker(concurrency=1).run_until_idle()

    assert ran == ["burn", "fracture", "cold", "cough", "itch"]


def test_a_worker_leaves_classes_alone_that_it_has_not_imported(geneva: gd.Drive) -> None:
    class Known(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    with registry.isolated():

        class Unknown(gd.Workflow):
            @gd.step
            def work(self) -> None: ...

        unknown = Unknown.create(priority=100)
    known = Known.create()

    geneva.worker().run_until_idle()

    assert known.reload().state == "finished"
    [execution] = unknown.reload().step_executions
    assert (execution.state, execution.worker_id) == ("scheduled", None)


def test_creating_a_workflow_wakes_the_workers_of_the_process(geneva: gd.Drive) -> None:
    bell = threading.Event()
    stop_listening = geneva.environment.wakeups.listen(bell)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    Task.create()
    assert bell.is_set()

    bell.clear()
    stop_listening()
    Task.create()
    assert not bell.is_set()


def test_a_resting_worker_takes_what_is_created_at_once(
    make_drive: MakeDrive, geneva: gd.Drive
) -> None:
    drive = make_drive(poll_interval="10m")
    watch = Watch(drive)
    begun, release = threading.Event(), threading.Event()

    class Guard(gd.Workflow):
        @gd.step
        def stand(self) -> None:
            begun.set()
            assert release.wait(TIME_LIMIT)

    class Errand(gd.Workflow):
        @gd.step
        def run(self) -> None: ...

    Guard.using(drive).create()
    with drive.worker(concurrency=1):
        assert begun.wait(TIME_LIMIT)
        # With its only slot taken the worker rests for the whole interval, unless it is woken.
        errand = Errand.using(drive).create()
        release.set()
        watch.wait_for_workflows(2)

    assert errand.reload().state == "finished"


def test_a_paused_workflow_is_never_claimed(geneva: gd.Drive) -> None:
    ran: list[str] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            ran.append("work")

    held = Task.create()
    held.pause()

    geneva.worker().run_until_idle()
    assert (ran, held.reload().state) == ([], "paused")

    held.resume()
    geneva.worker().run_until_idle()
    assert (ran, held.reload().state) == (["work"], "finished")


def test_a_workflow_that_pauses_while_its_step_runs_is_not_claimed_again(
    geneva: gd.Drive, watch: Watch
) -> None:
    class Task(gd.Workflow):
        @gd.step
        def ask(self) -> None:
            self.handle.pause(reason="enough for today")

        @gd.step
        def answer(self) -> None: ...

    task = Task.create()
    with geneva.worker():
        watch.wait_for_workflows(1, "paused")
    geneva.worker().run_until_idle()

    assert task.reload().paused_reason == "enough for today"
    assert [(e.step_name, e.state) for e in task.step_executions] == [
        ("ask", "completed"),
        ("answer", "scheduled"),
    ]
