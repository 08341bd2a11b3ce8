"""Events start workflows: one per event and class, whatever the number of workers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive import errors
from geneva_drive.engine.waits.events import event_starts
from geneva_drive.testing import drain, speedrun
from geneva_drive.worker.housekeeping.waits import event_starts as duty_of_starts
from tests.approving import StandingClock

ran: list[Any] = []


@pytest.fixture
def classes() -> Iterator[tuple[Any, Any]]:
    """Classes with triggers, which other tests must not find."""
    ran.clear()

    class Order(gd.Workflow[Any]):
        type_name = "test_event_starts.Order"
        triggers = ("order.created", "import.*")

        @classmethod
        def hero_from_event(cls, event: gd.Event) -> object:
            number = event.payload.get("order")
            return None if number is None else gd.HeroRef("test_event_starts.Hero", str(number))

        may_proceed_without_hero = True

        @gd.step
        def pack(self) -> None:
            ran.append((self.hero_id, dict(self.context)))
            if self.context.get("rests"):
                self.reattempt(wait="1h")

    class Bill(gd.Workflow[Any]):
        type_name = "test_event_starts.Bill"
        triggers = ("order.created",)

        @gd.step
        def send(self) -> None: ...

    yield Order, Bill
    ran.clear()


def test_an_event_starts_one_workflow_of_each_class(geneva: gd.Drive, classes: Any) -> None:
    order, bill = classes

    event = geneva.publish("order.created", {"order": 7})
    again = geneva.publish("import.done", {"a": 1})
    drain(geneva)

    assert ran == [("7", {"order": 7}), (None, {"a": 1})]
    assert len(event.heard_by().started) == 2
    assert (order.finished().count(), bill.finished().count()) == (2, 1)
    assert len(again.heard_by().started) == 1
    [started_by] = {one.started_by for one in bill.finished()}
    assert started_by == f"event {event.number}"


def test_what_cannot_start_is_refused_on_record_and_not_tried_again(
    geneva: gd.Drive, classes: Any
) -> None:
    order, _ = classes
    geneva.publish("import.a", {"order": 7, "rests": True})
    drain(geneva)

    busy = geneva.publish("import.b", {"order": 7})
    bad = geneva.publish("import.c", ["no", "context"])
    drain(geneva)

    [ongoing] = order.ongoing()
    assert busy.heard_by().refused == {
        "test_event_starts.Order": (
            f"Its hero already has workflow {ongoing.id}, which is ongoing."
        )
    }
    assert bad.heard_by().refused["test_event_starts.Order"].startswith("AttributeError: ")
    assert (busy.heard_by().started, order.ongoing().count()) == ([], 1)


def test_two_workers_that_see_the_same_event_start_one_workflow(
    geneva: gd.Drive, classes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, _ = classes
    geneva.publish("import.a", {"order": 7})
    plan = event_starts._plan

    def other_first(*given: Any) -> Any:
        monkeypatch.undo()
        geneva.housekeep()
        return plan(*given)

    monkeypatch.setattr(event_starts, "_plan", other_first)
    geneva.housekeep()

    assert order.ongoing().count() == 1


def test_a_publisher_wakes_the_worker_that_starts_the_workflow(
    geneva: gd.Drive, classes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, _ = classes
    monkeypatch.setattr(duty_of_starts, "_EVERY", timedelta(days=1))
    geneva.environment.settings = replace(
        geneva.settings, heartbeat_interval=timedelta(minutes=1), lease=timedelta(minutes=3)
    )
    has_started = threading.Event()

    def note(event: gd.TelemetryEvent) -> None:
        if isinstance(event, gd.WorkflowChanged) and event.to_state == "finished":
            has_started.set()

    geneva.events.subscribe(note)

    with geneva.worker(concurrency=1):
        geneva.publish("import.a", {"order": 7})

        assert has_started.wait(30)  # the next round of the duty is a minute away
    assert order.finished().count() == 1


def test_a_publisher_without_the_class_leaves_the_start_to_a_worker_that_registered_it(
    geneva: gd.Drive, classes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, _ = classes
    event_starts.register(geneva.environment, event_starts.triggered())
    with monkeypatch.context() as patched:
        patched.setattr(
            "geneva_drive.engine.waits.events.event_delivery._triggered_here", lambda _: ()
        )
        event = geneva.publish("import.a", {"order": 7})
    assert event.heard_by().started == []

    drain(geneva)

    assert order.finished().count() == 1


def test_an_event_past_its_time_starts_nothing(geneva: gd.Drive, classes: Any) -> None:
    order, _ = classes
    clock = StandingClock()
    geneva.clock = clock
    geneva.publish("import.a", {"order": 7}, ttl=60)
    clock.advance(timedelta(minutes=1))

    drain(geneva)

    assert (order.finished().count(), geneva.published()) == (0, [])


@pytest.mark.parametrize("triggers", ["a b", [""], 5, ["a*b"]])
def test_triggers_that_are_no_types_are_refused(triggers: Any) -> None:
    with pytest.raises(errors.StepConfigurationError) as refusal:
        type("Bad", (gd.Workflow,), {"triggers": triggers})

    assert "triggers must" in str(refusal.value)


class Payment(gd.Workflow[Any]):
    type_name = "test_event_starts.Payment"

    @gd.wait_for_event("authorized")
    def authorized(self, event: gd.Event) -> None:
        ran.append(event.payload)

    @gd.wait_for_event("captured", key="1")
    def captured(self, event: gd.Event) -> None:
        ran.append(event.payload)


def test_a_speedrun_publishes_the_events_of_a_test(geneva: gd.Drive) -> None:
    ran.clear()
    events: list[Any] = ["authorized", {"type": "captured", "payload": 5, "key": 1}]

    workflow = speedrun(Payment.create(), events=events)

    assert (workflow.state, ran) == ("finished", [None, 5])
    with pytest.raises(errors.InvalidInput) as refusal:
        speedrun(workflow, events=["refunded"])
    assert "did not wait for 1 of the events, beginning with 'refunded'" in str(refusal.value)
    with pytest.raises(errors.InvalidInput):
        speedrun(workflow, events=[{"typo": 1}])
