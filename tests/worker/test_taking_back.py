"""What a dead worker held is taken back, recorded, and bounded."""

from __future__ import annotations

import threading

import pytest

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.engine.recovery import lost_workers
from geneva_drive.testing import crash_after, drain, expire_leases
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.flights import Flights
from geneva_drive.worker.heartbeat import Heartbeat
from geneva_drive.worker.housekeeping.duty import DutyRound
from geneva_drive.worker.housekeeping.lost_workers import LostWorkers
from geneva_drive.worker.identity import Identity
from tests.worker.at_once import at_once
from tests.worker.conftest import MakeDrive
from tests.worker.watching import Watch, rows_of, wait, wait_until


def _claim_and_die(drive: gd.Drive) -> str:
    """Hold what is due as a worker that has no row any more; gives its id."""
    identity = Identity()
    assert claim_due(drive.environment, identity, limit=100)
    return identity.id


def _pending_dead_letters(drive: gd.Drive, workflow: gd.WorkflowHandle[gd.Workflow]) -> list[str]:
    with drive.store.reading() as connection:
        reasons = drive.store.dead_letters.pending_reasons(connection, [workflow.id])
    return list(reasons.values())


def test_what_a_dead_worker_held_is_scheduled_again(geneva: gd.Drive) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create()
    dead = _claim_and_die(geneva)

    assert geneva.housekeep() == 1

    first, second = task.step_executions
    assert (first.state, first.outcome, first.worker_id) == ("failed", "recovered", dead)
    assert first.error_message == f"Worker {dead} was lost."
    assert (second.attempt_number, second.state, second.worker_id) == (2, "scheduled", None)


def test_a_worker_whose_lease_ran_out_loses_its_executions_and_their_late_results(
    geneva: gd.Drive, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    begun, release = threading.Event(), threading.Event()
    bodies: list[int] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            bodies.append(self.attempt)
            if self.attempt == 1:
                begun.set()
                wait(release)

    task = Task.create()
    with geneva.worker() as worker:
        wait(begun)
        [row] = geneva.workers
        expire_leases(geneva)
        assert geneva.housekeep() == 1
        watch.wait_for_workflows(1)
        release.set()

    assert [(e.attempt_number, e.state, e.outcome) for e in task.step_executions] == [
        (1, "failed", "recovered"),
        (2, "completed", "success"),
    ]
    first = task.step_executions[0]
    assert first.error_message == f"Worker {row.name} was lost."
    assert first.worker_id == worker.identity.id
    assert bodies == [1, 2]
    assert (
        f"Execution {first.id} of step 'work' is no longer held by this worker; its result was "
        f"dropped." in caplog.messages
    )


def test_a_living_worker_takes_back_what_a_dead_one_held(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(heartbeat_interval=0.05)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create()
    _claim_and_die(geneva)
    with drive.worker():
        wait_until(lambda: task.reload().state == "finished", "the task is finished")

    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "completed", "success")]


def test_two_recoveries_mean_three_runs_and_then_a_dead_letter(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(max_recoveries=2)
    runs: list[int] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            runs.append(self.attempt)

    task = Task.using(drive).create()
    for _ in range(3):
        with crash_after("body"):
            drain(drive)
    assert drain(drive) == 0

    assert runs == [1, 2, 3]
    assert rows_of(task) == [("work", "failed", "recovered")] * 3
    last = task.reload().step_executions[-1]
    assert task.state == "paused"
    assert task.paused_reason == f"Worker {last.worker_id} was lost. (for the 3rd time)"
    assert _pending_dead_letters(drive, task) == ["worker_unavailable"]


def test_resuming_after_a_dead_letter_forgives_what_was_counted(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(max_recoveries=0)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.using(drive).create()
    for _ in range(2):
        with crash_after("body"):
            drain(drive)
        drain(drive)
        task.resume()
    drain(drive)

    assert task.reload().state == "finished"
    assert _pending_dead_letters(drive, task) == ["worker_unavailable"]


def test_a_workflow_asked_to_pause_is_not_revived_by_taking_back(geneva: gd.Drive) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create()
    _claim_and_die(geneva)
    task.pause(reason="let me look")

    geneva.housekeep()
    geneva.worker().run_until_idle()

    assert (task.reload().state, task.paused_reason) == ("paused", "let me look")
    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "scheduled", None)]


def test_taking_back_needs_no_code_of_the_class(geneva: gd.Drive) -> None:
    with registry.isolated():

        class Elsewhere(gd.Workflow):
            @gd.step
            def work(self) -> None: ...

        task = Elsewhere.create()
        _claim_and_die(geneva)

    assert geneva.housekeep() == 1

    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "scheduled", None)]


def test_a_worker_that_is_gone_is_forgotten_once_nothing_is_in_its_name(geneva: gd.Drive) -> None:
    with geneva.worker():
        pass
    expire_leases(geneva)

    geneva.housekeep()

    assert geneva.workers == []


def test_who_may_not_judge_takes_nothing_back(geneva: gd.Drive) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create()
    _claim_and_die(geneva)

    assert LostWorkers(may_judge=lambda: False)(geneva.environment) == DutyRound(0, False)

    assert rows_of(task) == [("work", "in_progress", None)]


def test_two_at_once_take_each_execution_back_once(geneva: gd.Drive, make_drive: MakeDrive) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    tasks = [Task.create() for _ in range(20)]
    _claim_and_die(geneva)

    counts = at_once([make_drive(), make_drive()], lambda drive: drive.housekeep())

    assert sum(counts) == 20
    assert [rows_of(task) for task in tasks] == [
        [("work", "failed", "recovered"), ("work", "scheduled", None)]
    ] * 20


def test_a_silent_worker_keeps_its_name_until_the_last_of_its_executions_is_taken(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("geneva_drive.engine.recovery.lost_workers._BATCH", 1)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    tasks = [Task.create() for _ in range(3)]
    identity = Identity(name="box:7")
    Heartbeat(geneva.environment, identity, Flights()).register()
    claim_due(geneva.environment, identity, limit=3)
    expire_leases(geneva)

    assert geneva.housekeep() == 3

    errors = [task.step_executions[0].error_message for task in tasks]
    assert errors == ["Worker box:7 was lost."] * 3
    assert geneva.workers == []


@pytest.mark.databases("postgresql", "mysql")  # SQLite has no locks of rows
def test_what_is_locked_is_left_to_a_later_round_and_keeps_nobody_waiting(geneva: gd.Drive) -> None:

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    frozen, free = Task.create(), Task.create()
    _claim_and_die(geneva)
    with geneva.store.transaction() as connection:
        geneva.store.workflows.lock(connection, [frozen.id])
        assert geneva.housekeep() == 1
        assert rows_of(frozen) == [("work", "in_progress", None)]

    assert rows_of(free)[0] == ("work", "failed", "recovered")
    assert geneva.housekeep() == 1
    assert rows_of(frozen)[0] == ("work", "failed", "recovered")


@pytest.mark.databases("postgresql", "mysql")  # SQLite has no locks of rows
def test_many_that_are_locked_do_not_stand_in_the_way_of_those_behind_them(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost_workers, "_BATCH", 2)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    tasks = [Task.create() for _ in range(7)]
    _claim_and_die(geneva)
    with geneva.store.transaction() as connection:
        geneva.store.workflows.lock(connection, [task.id for task in tasks[:5]])
        assert geneva.housekeep() == 2

    assert geneva.housekeep() == 5
