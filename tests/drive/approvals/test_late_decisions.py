"""Decisions that come too late: the caller is told what happened, and nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, StandingClock, asked, everything_stored, reach

HOUR = timedelta(hours=1)


class Refund(gd.Workflow[Any]):
    type_name = "test_late_decisions.Refund"

    @gd.approval(role="manager", timeout=3600, on_timeout="pause", escalate_to="director")
    def manager(self, decision: Decision) -> None: ...


def approve(drive: gd.Drive, workflow: Handle, clock: StandingClock) -> None:
    asked(drive).approve(by="bob")


def reject(drive: gd.Drive, workflow: Handle, clock: StandingClock) -> None:
    asked(drive).reject(by="bob")


def cancel(drive: gd.Drive, workflow: Handle, clock: StandingClock) -> None:
    workflow.cancel()


def skip(drive: gd.Drive, workflow: Handle, clock: StandingClock) -> None:
    workflow.skip()


def rewind(drive: gd.Drive, workflow: Handle, clock: StandingClock) -> None:
    workflow.rewind("manager")
    drain(drive)


def expire(drive: gd.Drive, workflow: Handle, clock: StandingClock) -> None:
    clock.advance(HOUR)
    drain(drive)


def let_time_pass(drive: gd.Drive, workflow: Handle, clock: StandingClock) -> None:
    clock.advance(HOUR)


CANCELED = "it was canceled at 2026-03-01 12:00:00 UTC, as its workflow no longer waits for it."

LATE: dict[str, tuple[Callable[[gd.Drive, Handle, StandingClock], None], str]] = {
    "approved": (approve, "it was approved by bob at 2026-03-01 12:00:00 UTC."),
    "rejected": (reject, "it was rejected by bob at 2026-03-01 12:00:00 UTC."),
    "canceled": (cancel, CANCELED),
    "skipped": (skip, CANCELED),
    "an earlier visit": (rewind, CANCELED),
    "expired": (expire, "it expired at 2026-03-01 13:00:00 UTC."),
    "past its deadline": (let_time_pass, "its deadline was 2026-03-01 13:00:00 UTC."),
}

COMMANDS: dict[str, tuple[Callable[[gd.Approval], Any], str]] = {
    "approve": (lambda request: request.approve(by="ann"), "approve"),
    "the same again": (lambda request: request.approve(by="bob"), "approve"),
    "reject": (lambda request: request.reject(by=gd.Actor("ann")), "reject"),
    "escalate": (lambda request: request.escalate(by="ann"), "escalate"),
    "delegate": (lambda request: request.delegate(to="eve", by="ann"), "delegate"),
    "link": (lambda request: request.link(for_="eve"), "link to"),
}


@pytest.mark.parametrize(
    ("cause", "command"),
    [
        *((cause, "approve") for cause in LATE),
        *(("approved", command) for command in COMMANDS if command != "approve"),
    ],
)
def test_what_comes_too_late_is_refused_and_changes_nothing(
    linked: gd.Drive, cause: str, command: str
) -> None:
    end, words = LATE[cause]
    act, verb = COMMANDS[command]
    linked.clock = clock = StandingClock()
    workflow = reach(linked, Refund)
    request = asked(linked)
    end(linked, workflow, clock)
    before = everything_stored(linked)

    with pytest.raises(gd.errors.InvalidStateError) as refused:
        act(request)

    assert str(refused.value) == f"Cannot {verb} approval {request.id}: {words}"
    assert everything_stored(linked) == before


def test_a_request_of_an_earlier_visit_does_not_decide_the_present_one(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)
    earlier = asked(geneva)
    workflow.rewind("manager")
    drain(geneva)

    with pytest.raises(gd.errors.InvalidStateError):
        earlier.approve(by="ann")
    drain(geneva)

    assert (asked(geneva).state, workflow.reload().state) == ("pending", "paused")


def test_a_request_of_a_pruned_workflow_is_not_found(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Refund)
    request = asked(geneva)
    workflow.cancel()
    clock.advance(timedelta(days=2))
    geneva.prune(older_than=timedelta(days=1))

    with pytest.raises(gd.errors.ApprovalNotFound) as refused:
        request.approve(by="ann")

    assert str(refused.value) == (
        f"There is no approval with id {request.id}. `geneva approvals` lists those that are "
        f"pending."
    )
