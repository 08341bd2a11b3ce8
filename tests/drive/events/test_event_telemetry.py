"""What subscribers are told of events and of the waits for them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import StandingClock, reach

HOUR = timedelta(hours=1)
Told = list[gd.EventPublished | gd.EventWaitChanged]


class Order(gd.Workflow[Any]):
    type_name = "test_event_telemetry.Order"

    @gd.wait_for_event("paid", key="7", timeout=HOUR, on_timeout="continue")
    def payment(self, event: gd.Event) -> None: ...


@pytest.fixture
def told(geneva: gd.Drive) -> Iterator[Told]:
    told: Told = []

    def note(event: gd.TelemetryEvent) -> None:
        if isinstance(event, gd.EventPublished | gd.EventWaitChanged):
            told.append(event)

    unsubscribe = geneva.events.subscribe(note)
    yield told
    unsubscribe()


@pytest.fixture
def clock(geneva: gd.Drive) -> StandingClock:
    clock = StandingClock()
    geneva.clock = clock
    return clock


def _wait_of(workflow: gd.WorkflowHandle[Any], **fields: Any) -> gd.EventWaitChanged:
    [execution] = workflow.step_executions
    return gd.EventWaitChanged(
        workflow_id=workflow.id,
        type="test_event_telemetry.Order",
        hero_type=None,
        hero_id=None,
        execution_id=execution.id,
        step_name="payment",
        event_types=("paid",),
        key="7",
        **fields,
    )


def test_a_wait_and_the_event_that_ends_it_are_told(
    geneva: gd.Drive, clock: StandingClock, told: Told
) -> None:
    workflow = reach(geneva, Order)
    clock.advance(timedelta(minutes=1))
    event = geneva.publish("paid", {"secret": 1}, key=7, id="1", source="bank")
    geneva.publish("paid", key=7, id="1", source="bank")  # a duplicate
    drain(geneva)

    begun, heard, published = told
    assert isinstance(begun, gd.EventWaitChanged)
    assert begun == _wait_of(
        workflow,
        wait_id=begun.wait_id,
        from_state=None,
        to_state="open",
        at=clock.moment - timedelta(minutes=1),
    )
    assert heard == _wait_of(
        workflow,
        wait_id=begun.wait_id,
        from_state="open",
        to_state="heard",
        at=clock.moment,
        event_number=event.number,
    )
    assert published == gd.EventPublished(
        number=event.number,
        id="1",
        source="bank",
        type="paid",
        key="7",
        continued=(workflow.id,),
        at=clock.moment,
    )


def test_a_deadline_is_told(geneva: gd.Drive, clock: StandingClock, told: Told) -> None:
    reach(geneva, Order)
    clock.advance(HOUR)
    drain(geneva)

    assert [(one.from_state, one.to_state) for one in told] == [
        (None, "open"),
        ("open", "timed_out"),
    ]


def test_an_event_is_told_once_it_is_committed_and_delivered(geneva: gd.Drive, told: Told) -> None:
    with Session(geneva.engine) as session:
        geneva.publish("paid", session=session)
        session.rollback()
    with geneva.engine.begin() as connection:
        geneva.publish("sent", session=connection)
    assert told == []

    drain(geneva)
    drain(geneva)

    assert [(type(one), one.to_state) for one in told] == [(gd.EventPublished, "published")]


def test_events_and_waits_are_logged(geneva: gd.Drive, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="geneva_drive")
    workflow = reach(geneva, Order)
    event = geneva.publish("paid", key=7, source="bank")

    [execution] = workflow.step_executions
    ids = (
        f"[test_event_telemetry.Order workflow={workflow.id} step=payment execution={execution.id}]"
    )
    lines = [one.getMessage() for one in caplog.records]
    assert f"{ids} wait for paid / 7 new -> open" in lines
    assert f"{ids} wait for paid / 7 open -> heard (event {event.number})" in lines
    assert lines[-1] == (
        f"Event {event.number} (paid from bank with key '7') is published; 1 workflow continues"
    )
