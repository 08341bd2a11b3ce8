"""`resume_timeout`: workflows that nobody resumed in time become dead letters."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import drain
from geneva_drive.worker.housekeeping.duties import duties
from tests.approving import Decision, StandingClock, asked, everything_stored, reach
from tests.drive.approvals.conftest import OpenDrive
from tests.looking import pending_dead_letters

DAY = timedelta(days=1)


class Refund(gd.Workflow[Any]):
    type_name = "test_long_pauses.Refund"

    @gd.step
    def look_up(self) -> None:
        if self.context.get("torn"):
            raise ValueError("torn")

    @gd.approval(role="manager", escalate_to="director")
    def manager(self, decision: Decision) -> None: ...


def opened(open_drive: OpenDrive, **settings: Any) -> tuple[gd.Drive, StandingClock]:
    drive = open_drive(**settings)
    drive.clock = clock = StandingClock()
    return drive, clock


def test_a_workflow_paused_by_hand_for_too_long_is_a_dead_letter(open_drive: OpenDrive) -> None:
    drive, clock = opened(open_drive, resume_timeout=DAY)
    workflow = reach(drive, Refund).pause()

    clock.advance(DAY - timedelta(seconds=1))
    drain(drive)
    assert pending_dead_letters(drive) == []
    clock.advance(timedelta(seconds=1))
    drain(drive)

    assert pending_dead_letters(drive) == ["resume_timeout"]
    assert (workflow.reload().state, asked(drive).role) == ("paused", "manager")


def test_a_workflow_that_failed_long_ago_is_a_dead_letter(open_drive: OpenDrive) -> None:
    drive, clock = opened(open_drive, resume_timeout=DAY)
    workflow = reach(drive, Refund, context={"torn": True})

    clock.advance(DAY)
    drain(drive)

    assert pending_dead_letters(drive) == ["resume_timeout"]
    assert workflow.reload().state == "paused"


def test_a_workflow_that_waits_for_a_person_is_no_dead_letter(open_drive: OpenDrive) -> None:
    drive, clock = opened(open_drive, resume_timeout=DAY, resume_auto_escalate=True)
    reach(drive, Refund)

    clock.advance(100 * DAY)
    drain(drive)

    assert (pending_dead_letters(drive), asked(drive).role) == ([], "manager")


def test_a_long_pause_is_reported_once(open_drive: OpenDrive) -> None:
    drive, clock = opened(open_drive, resume_timeout=DAY)
    reach(drive, Refund).pause()
    clock.advance(DAY)
    drain(drive)
    before = everything_stored(drive)

    clock.advance(DAY)
    drain(drive)

    assert everything_stored(drive) == before


def test_a_dead_letter_holds_a_workflow_until_it_is_resumed(open_drive: OpenDrive) -> None:
    drive, clock = opened(open_drive, resume_timeout=DAY)
    workflow = reach(drive, Refund).pause()
    clock.advance(DAY)
    drain(drive)
    assert drive.store.read(drive.store.dead_letters.holding) == [workflow.id]

    workflow.resume()
    asked(drive).approve(by="ann")
    drain(drive)

    assert workflow.reload().state == "finished"
    assert drive.store.read(drive.store.dead_letters.holding) == []


def test_a_long_pause_may_escalate_pending_requests(open_drive: OpenDrive) -> None:
    drive, clock = opened(open_drive, resume_timeout=DAY, resume_auto_escalate=True)
    workflow = reach(drive, Refund).pause()

    clock.advance(DAY)
    drain(drive)

    assert (asked(drive).role, pending_dead_letters(drive)) == ("director", ["resume_timeout"])
    assert [(e.command, e.actor, e.reason) for e in workflow.audit_entries] == [
        ("pause", None, None),
        ("escalate", None, "to role 'director'"),
    ]


def test_long_pauses_are_left_alone_by_default(geneva: gd.Drive, clock: StandingClock) -> None:
    reach(geneva, Refund).pause()

    clock.advance(1000 * DAY)
    drain(geneva)

    assert pending_dead_letters(geneva) == []


def test_long_pauses_are_looked_for_at_the_interval_of_the_setting(open_drive: OpenDrive) -> None:
    drive = open_drive(resume_timeout=DAY, resume_worker_interval=timedelta(minutes=7))

    every = {duty.name: duty.every for duty in duties(drive.settings)}

    assert every["long pauses"] == timedelta(minutes=7)
