"""What a run does while the workflow of the run before it is ongoing."""

from __future__ import annotations

from datetime import timedelta

import geneva_drive as gd
from tests.scheduling import at, drain_at, runs_of


def test_skip_records_the_run_and_the_workflow_that_was_ongoing(monday: gd.Drive) -> None:
    class Skipping(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="skip")

        @gd.step
        def begin(self) -> None: ...

        @gd.step(wait=timedelta(minutes=90))
        def end(self) -> None: ...

    drain_at(monday, at(8, 30), at(9), at(10), at(10, 30), at(11))

    assert runs_of(monday, Skipping) == [
        ("02 09:00", "started"),
        ("02 10:00", "overlap"),
        ("02 11:00", "started"),
    ]
    _, skipped, first = monday.schedules.runs(Skipping)
    assert (skipped.workflow_id, skipped.blocked_by) == (None, first.workflow_id)


def test_queue_starts_each_run_when_the_one_before_has_ended(monday: gd.Drive) -> None:
    class Queueing(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="queue")

        @gd.step
        def begin(self) -> None: ...

        @gd.step(wait=timedelta(minutes=150))
        def end(self) -> None: ...

    drain_at(monday, at(8, 30), at(9), at(10), at(11))
    assert runs_of(monday, Queueing) == [
        ("02 09:00", "started"),
        ("02 10:00", "queued"),
        ("02 11:00", "queued"),
    ]

    drain_at(monday, at(11, 30))  # the first has ended

    assert runs_of(monday, Queueing)[1:] == [("02 10:00", "started"), ("02 11:00", "queued")]
    assert Queueing.ongoing().count() == 1
    assert monday.schedules.get(Queueing).queued_count == 1


def test_a_canceled_workflow_makes_room_for_the_queued_run(monday: gd.Drive) -> None:
    class Queueing(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="queue")

        @gd.step(wait=timedelta(hours=5))
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(9), at(10))
    [first] = Queueing.ongoing()

    first.cancel()
    drain_at(monday, at(10))

    assert runs_of(monday, Queueing) == [("02 09:00", "started"), ("02 10:00", "started")]
    assert Queueing.ongoing().ids() == [monday.schedules.runs(Queueing)[0].workflow_id]


def test_a_queue_whose_rows_were_deleted_by_hand_is_empty(monday: gd.Drive) -> None:
    class Queueing(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="queue")

        @gd.step
        def work(self) -> None: ...

    drain_at(monday, at(8, 30))
    store = monday.store
    with store.transaction() as connection:
        known = store.schedules.lock(connection, "Queueing")
        assert known is not None
        store.schedules.update(connection, known, {"queued_count": 1})

    drain_at(monday, at(8, 45))

    assert monday.schedules.get(Queueing).queued_count == 0


def test_cancel_running_cancels_the_workflow_before_it_and_says_so(monday: gd.Drive) -> None:
    class Replacing(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="cancel_running")

        @gd.step(wait=timedelta(hours=5))
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(9), at(10))

    [canceled] = Replacing.canceled()
    [ongoing] = Replacing.ongoing()
    assert runs_of(monday, Replacing) == [("02 09:00", "started"), ("02 10:00", "started")]
    assert (canceled.scheduled_at, ongoing.scheduled_at) == (at(9), at(10))
    [entry] = canceled.audit_entries
    assert (entry.command, entry.actor, entry.reason) == (
        "cancel",
        "schedule",
        "The schedule's run of 2026-03-02 10:00:00 UTC replaces it.",
    )


def test_allow_starts_workflows_beside_one_another(monday: gd.Drive) -> None:
    class Crowding(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="allow")

        @gd.step(wait=timedelta(hours=5))
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(9), at(10))

    assert Crowding.ongoing().count() == 2


def test_jitter_delays_the_first_step_by_the_same_part_every_time(monday: gd.Drive) -> None:
    class Spread(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="allow", jitter="30m")

        @gd.step(wait=timedelta(hours=1))
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(9), at(10))

    delays = [
        execution.scheduled_for - workflow.created_at - timedelta(hours=1)
        for workflow in Spread.ongoing()
        for execution in workflow.step_executions
    ]
    assert [run.at for run in monday.schedules.runs(Spread)] == [at(10), at(9)]
    assert [round(delay / timedelta(minutes=1)) for delay in delays] == [20, 3]
