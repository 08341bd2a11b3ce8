"""`drive.schedules`: list, pause, resume, run now, and look at the runs."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

import geneva_drive as gd
from geneva_drive.errors import (
    InvalidInput,
    NotFound,
    ScheduleNotFound,
    UnknownWorkflowClass,
)
from geneva_drive.testing import drain
from tests.deploys import former_code
from tests.scheduling import MORNING, at, drain_at, runs_of, set_clock


@pytest.fixture
def monday(geneva: gd.Drive) -> gd.Drive:
    set_clock(geneva, MORNING)
    return geneva


def test_schedules_are_listed_with_their_terms_and_their_last_run(monday: gd.Drive) -> None:
    class Reporting(gd.Workflow):
        schedule = gd.cron("0 9 * * 1-5", timezone="Europe/Amsterdam", missed="all", jitter="10m")

        @gd.step
        def send(self) -> None: ...

    class Billing(gd.Workflow):
        schedule = gd.cron("0 12 1 * *")

        @gd.step
        def bill(self) -> None: ...

    [_, unseen] = monday.schedules.list()
    drain_at(monday, at(7, 30), at(8))

    billing, reporting = monday.schedules.list()
    [workflow_id] = Reporting.ongoing().ids()
    assert (unseen.seen_at, reporting.seen_at) == (None, at(7, 30))
    assert (reporting.type, reporting.cron, reporting.timezone) == (
        "Reporting",
        "0 9 * * 1-5",
        "Europe/Amsterdam",
    )
    assert (reporting.overlap, reporting.missed) == ("skip", "all")
    assert reporting.jitter is not None
    assert reporting.jitter.total_seconds() == 600
    assert reporting.next_at == at(8, day=3)
    assert reporting.last_run is not None
    assert (reporting.last_run.at, reporting.last_run.workflow_id) == (at(8), workflow_id)
    assert (billing.type, billing.last_run, billing.is_paused) == ("Billing", None, False)


def test_a_paused_schedule_records_its_runs_and_makes_up_for_none(monday: gd.Drive) -> None:
    class Hourly(gd.Workflow):
        schedule = gd.cron("0 * * * *", missed="all", overlap="allow")

        @gd.step
        def work(self) -> None: ...

    drain_at(monday, at(8, 30))
    paused = monday.schedules.pause(Hourly, actor="ann")
    drain_at(monday, at(9), at(10))  # a worker runs
    set_clock(monday, at(11, 30))  # none runs at eleven

    resumed = monday.schedules.resume("Hourly")
    drain_at(monday, at(12))

    assert (paused.paused_at, paused.paused_by, paused.next_at) == (at(8, 30), "ann", None)
    assert (resumed.paused_at, resumed.paused_by, resumed.next_at) == (None, None, at(12))
    assert runs_of(monday, Hourly) == [
        ("02 09:00", "paused"),
        ("02 10:00", "paused"),
        ("02 11:00", "paused"),
        ("02 12:00", "started"),
    ]


def test_pausing_twice_keeps_who_did_it_first_and_resuming_twice_changes_nothing(
    monday: gd.Drive,
) -> None:
    class Hourly(gd.Workflow):
        schedule = gd.cron("0 * * * *")

        @gd.step
        def work(self) -> None: ...

    monday.schedules.pause(Hourly, actor="ann")

    assert monday.schedules.pause(Hourly, actor="bob").paused_by == "ann"
    assert monday.schedules.resume(Hourly) == monday.schedules.resume(Hourly)


def test_a_paused_schedule_holds_its_queue(monday: gd.Drive) -> None:
    class Queueing(gd.Workflow):
        schedule = gd.cron("0 * * * *", overlap="queue")

        @gd.step(wait="30m")
        def work(self) -> None: ...

    monday.schedules.run_now(Queueing)
    monday.schedules.run_now(Queueing)
    monday.schedules.pause(Queueing)
    drain_at(monday, at(9))
    held = Queueing.finished().count(), Queueing.ongoing().count()

    monday.schedules.resume(Queueing)
    drain(monday)

    assert held == (1, 0)
    assert Queueing.ongoing().count() == 1


def test_a_run_by_hand_obeys_overlap_and_leaves_the_next_moment(monday: gd.Drive) -> None:
    class Nightly(gd.Workflow):
        schedule = gd.cron("0 3 * * *", jitter="1h")

        @gd.step
        def work(self) -> None: ...

    monday.schedules.pause(Nightly)
    first = monday.schedules.run_now(Nightly, actor="ann")
    second = monday.schedules.run_now("Nightly", actor="bob")
    monday.schedules.resume(Nightly)
    drain(monday)

    [workflow] = Nightly.finished()
    assert (workflow.id, workflow.started_by) == (first.workflow_id, "ann")
    assert (first.state, first.is_manual, first.actor) == ("started", True, "ann")
    assert (second.skipped_reason, second.blocked_by) == ("overlap", first.workflow_id)
    assert monday.schedules.runs(Nightly) == [second, first]
    assert monday.schedules.get(Nightly).next_at == at(3, day=3)


def test_the_next_moments_are_in_the_time_of_the_schedule(monday: gd.Drive) -> None:
    class Reporting(gd.Workflow):
        schedule = gd.cron("30 2 * * *", timezone="Europe/Amsterdam")

        @gd.step
        def send(self) -> None: ...

    set_clock(monday, at(12, day=28))

    amsterdam = ZoneInfo("Europe/Amsterdam")
    moments = monday.schedules.next(Reporting, 2)
    assert moments == [
        datetime(2026, 3, 29, 3, 0, tzinfo=amsterdam),  # there is no half past two
        datetime(2026, 3, 30, 2, 30, tzinfo=amsterdam),
    ]
    assert [moment.tzinfo for moment in moments] == [amsterdam, amsterdam]


def test_runs_are_limited_to_the_newest(monday: gd.Drive) -> None:
    class Hourly(gd.Workflow):
        schedule = gd.cron("0 * * * *", missed="skip")

        @gd.step
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(11, 30))

    assert [run.at for run in monday.schedules.runs(Hourly, limit=2)] == [at(11), at(10)]


@pytest.mark.parametrize("verb", ["pause", "resume", "run_now", "next", "runs", "get"])
def test_an_unknown_type_is_not_found(geneva: gd.Drive, verb: str) -> None:
    class Plain(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    call = getattr(geneva.schedules, verb)

    with pytest.raises(NotFound) as unknown:
        call("Gone")
    with pytest.raises(ScheduleNotFound) as unscheduled:
        call(Plain)
    with pytest.raises(InvalidInput, match=rf"^{verb}\(\) takes a workflow class or its type, got"):
        call(7)

    assert str(unknown.value) == (
        "Workflow type 'Gone' has no schedule. `geneva schedules` lists all schedules. A "
        "schedule is known once a worker that imports its class has run."
    )
    assert str(unscheduled.value) == (
        "Workflow type 'Plain' has no schedule. Give the class one: "
        "schedule = gd.cron('0 9 * * *')."
    )


def test_only_a_process_with_the_class_can_run_a_schedule_now(monday: gd.Drive) -> None:
    with former_code():

        class Gone(gd.Workflow):
            schedule = gd.cron("0 9 * * *")

            @gd.step
            def work(self) -> None: ...

        drain(monday)

    with pytest.raises(UnknownWorkflowClass, match="name it with --app or GENEVA_APP"):
        monday.schedules.run_now("Gone")

    assert monday.schedules.pause("Gone").is_paused


def test_old_runs_are_pruned_with_their_workflows(monday: gd.Drive) -> None:
    class Daily(gd.Workflow):
        schedule = gd.cron("0 9 * * *", missed="skip")

        @gd.step
        def work(self) -> None: ...

    drain_at(monday, at(8, 30), at(9), at(12, day=3), at(9, day=4))

    monday.prune("12h")

    assert runs_of(monday, Daily) == [("04 09:00", "started")]
    assert Daily.finished().count() == 1
