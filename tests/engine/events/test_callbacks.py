"""An outside service calls an address, before or after its step is reached, and once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive import errors
from geneva_drive.testing import drain
from tests.approving import StandingClock, reach

ran: list[Any] = []
urls: list[str] = []


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


@pytest.fixture(autouse=True)
def drive(geneva_database_url: str, geneva: gd.Drive, clock: StandingClock) -> Iterator[gd.Drive]:
    """The Drive with a public address."""
    ran.clear()
    urls.clear()
    drive = gd.configure(geneva_database_url, public_url="https://shop.example/geneva")
    drive.clock = clock
    yield drive
    drive.close()


class Transfer(gd.Workflow[Any]):
    type_name = "test_callbacks.Transfer"

    @gd.step
    def order(self) -> None:
        urls.append(self.callback_url("bank"))
        assert self.callback_url(Transfer.bank) == urls[-1]
        if self.context.get("calls"):
            self.handle.drive.callback(_token(), "early")

    @gd.wait_for_callback(timeout=timedelta(hours=1), on_timeout="continue")
    def bank(self, callback: gd.Callback) -> None:
        ran.append(callback.payload)

    @gd.step
    def book(self) -> None:
        found = self.result_of("bank")
        ran.append(None if found is None else found.payload)


def _token() -> str:
    return urls[-1].rpartition("/")[2]


def test_a_callback_lets_the_workflow_continue_once(drive: gd.Drive) -> None:
    workflow = reach(drive, Transfer)
    assert urls[0].startswith("https://shop.example/geneva/callbacks/")
    assert workflow.why() == ("Step 'bank' waits for its callback, until 2026-03-01 13:00:00 UTC.")

    first = drive.callback(_token(), {"paid": True})
    again = drive.callback(_token(), {"paid": False})
    drain(drive)
    at_the_end = drive.callback(_token())

    assert ran == [{"paid": True}, {"paid": True}]
    assert [one.duplicate for one in (first, again, at_the_end)] == [False, True, True]
    assert workflow.reload().state == "finished"


def test_a_callback_may_come_before_its_step_is_reached(drive: gd.Drive) -> None:
    workflow = reach(drive, Transfer, context={"calls": True})

    assert ran == ["early", "early"]
    assert workflow.state == "finished"


def test_only_the_hash_of_a_token_is_stored(drive: gd.Drive) -> None:
    reach(drive, Transfer)

    with drive.store.reading() as connection:
        stored = str(
            [tuple(row) for row in connection.execute(drive.store.tables.callbacks.select())]
        )
    assert _token() not in stored


def test_no_wait_for_events_hears_a_callback(drive: gd.Drive) -> None:
    class Greedy(gd.Workflow[Any]):
        type_name = "test_callbacks.Greedy"

        @gd.wait_for_event("*")
        def anything(self, event: gd.Event) -> None: ...

    early = Greedy.create()
    drain(drive)
    reach(drive, Transfer)

    drive.callback(_token())
    late = Greedy.create()
    drain(drive)

    assert [one.reload().state for one in (early, late)] == ["paused", "paused"]


def test_a_callback_that_nothing_waits_for_is_refused(
    drive: gd.Drive, clock: StandingClock
) -> None:
    workflow = reach(drive, Transfer)
    clock.advance(timedelta(hours=1))
    drain(drive)

    with pytest.raises(errors.InvalidStateError) as ended:
        drive.callback(_token())
    with pytest.raises(errors.NotFound) as unknown:
        drive.callback("guessed")
    with pytest.raises(errors.InvalidInput):
        drive.callback("")

    assert str(ended.value) == (
        f"Step 'bank' of workflow {workflow.id} no longer waits for this callback: it ended "
        f"without it."
    )
    assert str(unknown.value) == "There is no such callback. Was its address copied whole?"
    assert (ran, drive.published()) == ([None], [])


class Faulty(gd.Workflow[Any]):
    type_name = "test_callbacks.Faulty"

    @gd.step
    def ask(self) -> None:
        self.callback_url("ask")


def test_a_url_needs_a_step_that_waits_for_a_callback(drive: gd.Drive) -> None:
    workflow = reach(drive, Faulty)

    assert workflow.step_executions[-1].error_message == (
        "callback_url() takes a step that waits for a callback, and 'ask' is a step. Declare it "
        "with @gd.wait_for_callback()."
    )
