"""A wait runs its body at a moment that is computed when it is reached."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive import errors
from geneva_drive.testing import crash_after, drain, expire_leases, perform_next_step, speedrun
from tests.approving import StandingClock, reach
from tests.looking import history, last

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ran: list[Any] = []
asked: list[Any] = []


@pytest.fixture(autouse=True)
def clock(geneva: gd.Drive) -> StandingClock:
    ran.clear()
    asked.clear()
    clock = StandingClock()
    geneva.clock = clock
    return clock


def _until(workflow: gd.Workflow[Any]) -> datetime:
    asked.append(workflow.context["until"])
    until: datetime = workflow.context["until"]
    return until


class Reminder(gd.Workflow[Any]):
    type_name = "test_moments.Reminder"

    @gd.step
    def order(self) -> None:
        ran.append("order")

    @gd.wait(until=_until, keep_result=True)
    def remind(self) -> str:
        ran.append("remind")
        return "sent"

    @gd.step
    def close(self) -> None:
        ran.append(self.result_of(Reminder.remind))


def _reach(drive: gd.Drive, until: Any = NOON + timedelta(hours=2)) -> gd.WorkflowHandle[Any]:
    return reach(drive, Reminder, context={"until": until})


def test_a_wait_runs_its_body_at_its_moment_and_not_before(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = _reach(geneva)

    assert ran == ["order"]
    assert (workflow.state, workflow.needs) == ("ready", "timer")
    assert workflow.why() == "Step 'remind' runs at 2026-03-01 14:00:00 UTC, in 2h."
    clock.advance(timedelta(hours=1, minutes=59))
    assert drain(geneva) == 0
    clock.advance(timedelta(minutes=1))
    drain(geneva)

    assert ran == ["order", "remind", "sent"]
    assert len(asked) == 1


def test_a_moment_in_the_past_runs_the_body_at_once(geneva: gd.Drive) -> None:
    _reach(geneva, NOON)

    assert ran == ["order", "remind", "sent"]


@pytest.mark.parametrize(
    "until",
    [datetime(2026, 3, 1, 14, 0), None],  # noqa: DTZ001 - naive on purpose
    ids=["without a time zone", "nothing"],
)
def test_what_is_no_moment_goes_through_the_policy_of_the_step(
    geneva: gd.Drive, until: Any
) -> None:
    workflow = _reach(geneva, until)

    assert workflow.state == "paused"
    assert last(workflow).error_message == (
        f"What until returned must be a datetime with a time zone, got {until!r}."
    )


def test_a_crash_before_the_moment_is_stored_computes_it_again(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = Reminder.create(context={"until": NOON + timedelta(hours=2)})
    perform_next_step(workflow)
    with crash_after("body"):
        drain(geneva)
    expire_leases(geneva)
    drain(geneva)

    clock.advance(timedelta(hours=2))
    drain(geneva)

    assert (len(asked), ran) == (2, ["order", "remind", "sent"])
    assert workflow.reload().state == "finished"


def test_a_held_wait_runs_after_it_is_resumed(geneva: gd.Drive, clock: StandingClock) -> None:
    workflow = _reach(geneva)
    workflow.pause()
    clock.advance(timedelta(hours=3))
    assert drain(geneva) == 0

    workflow.resume()
    drain(geneva)

    assert ran == ["order", "remind", "sent"]


def test_a_wait_can_be_skipped_rewound_and_canceled(geneva: gd.Drive, clock: StandingClock) -> None:
    skipped, rewound, canceled = (_reach(geneva) for _ in range(3))
    ran.clear()
    asked.clear()

    skipped.skip()
    canceled.cancel()
    rewound.rewind("remind")
    drain(geneva)

    assert ran == [None]
    assert len(asked) == 1
    assert [one.reload().state for one in (skipped, rewound, canceled)] == [
        "finished",
        "ready",
        "canceled",
    ]


def test_a_speedrun_ignores_the_moment(geneva: gd.Drive) -> None:
    workflow = Reminder.create(context={"until": NOON + timedelta(days=2)})

    speedrun(workflow)

    assert workflow.state == "finished"
    assert len(asked) == 1


class Trip(gd.Workflow[Any]):
    type_name = "test_moments.Trip"

    @gd.step
    def book(self) -> None: ...

    @gd.wait(until=_until, depends_on="book", skip_if=lambda self: bool(ran), retry=gd.Retry(max=2))
    def depart(self) -> None:
        ran.append("depart")
        if self.attempt == 1:
            raise RuntimeError("not yet")

    @gd.task(depends_on="book")
    def pack(self) -> None:
        ran.append("pack") if self.context.get("packs") else None


def test_a_node_of_a_graph_waits_while_the_others_run(
    geneva: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(geneva, Trip, context={"until": NOON + timedelta(hours=1)})

    assert ("pack", "completed", "success") in history(workflow)
    assert ("depart", "scheduled", None) in history(workflow)
    clock.advance(timedelta(hours=1))
    drain(geneva)
    clock.advance(timedelta(hours=1))
    drain(geneva)

    assert ran == ["depart", "depart"]
    assert len(asked) == 1
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "until takes a function of the workflow that returns a datetime, not None."),
        ({"until": NOON}, "until takes a function of the workflow that returns a datetime, not "),
        ({"until": lambda: NOON}, "is called with (self)"),
    ],
    ids=["missing", "a moment", "takes nothing"],
)
def test_a_wait_needs_a_function(given: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.StepConfigurationError) as refusal:
        gd.wait(**given)(lambda self: None)

    assert message in str(refusal.value)
