"""PostgreSQL stores an event and releases the only wait for it by one statement.

What other transactions commit while that statement runs is seen by it, or by the look after it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.drive.publication import PublishedEvent
from geneva_drive.engine import crash_points
from geneva_drive.engine.crash_points import Life, Point
from geneva_drive.testing import drain, perform_next_step

pytestmark = pytest.mark.databases("postgresql")

TIME_LIMIT = 30.0
IS_BLOCKED = text(
    "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.datname = current_database() "
    "JOIN pg_stat_activity a ON a.pid = l.pid AND a.datid = d.oid WHERE NOT l.granted"
)
ran: list[Any] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


class Order(gd.Workflow[Any]):
    type_name = "test_event_statement.Order"

    @gd.wait_for_event("paid", key="1", timeout=timedelta(hours=1))
    def payment(self, event: gd.Event) -> None:
        ran.append(event.payload)


def _while_it_is_stored(drive: gd.Drive, act: Callable[[], object]) -> PublishedEvent:
    """Publish an event; call `act` after its statement has begun, and before it has locked a row.

    The statement waits for another transaction that has stored the same id, and rolls back.
    """
    answers: list[PublishedEvent] = []
    publisher = threading.Thread(
        target=lambda: answers.append(drive.publish("paid", "late", key=1, id="1", source="bank"))
    )
    row = {
        "source": "bank",
        "event_id": "1",
        "type": "paid",
        "event_key": "1",
        "payload": "null",
        "published_at": datetime.now(UTC),
    }
    with drive.engine.connect() as blocker, drive.engine.connect() as observer:
        blocker.execute(insert(drive.store.tables.events), row)
        publisher.start()
        _wait_until(lambda: bool(observer.scalar(IS_BLOCKED)))
        act()
        blocker.rollback()
    publisher.join(TIME_LIMIT)
    [answer] = answers
    return answer


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIME_LIMIT
    while not holds():
        assert time.monotonic() < deadline


def test_a_wait_that_begins_meanwhile_hears_the_event(geneva: gd.Drive) -> None:
    workflow = Order.create()

    published = _while_it_is_stored(geneva, lambda: perform_next_step(workflow))
    drain(geneva)

    assert published.continued == (workflow.id,)
    assert ran == ["late"]
    assert workflow.reload().state == "finished"


def test_a_workflow_that_is_paused_meanwhile_continues_once_it_is_resumed(
    geneva: gd.Drive,
) -> None:
    workflow = Order.create()
    drain(geneva)

    _while_it_is_stored(geneva, workflow.pause)
    drain(geneva)
    [request] = workflow.resume_requests
    before = (request.executed_at, list(ran))
    workflow.reload().resume()
    drain(geneva)

    assert before == (None, [])
    assert ran == ["late"]


def test_a_wait_that_hears_another_event_meanwhile_hears_no_second_one(geneva: gd.Drive) -> None:
    workflow = Order.create()
    drain(geneva)

    published = _while_it_is_stored(
        geneva, lambda: geneva.publish("paid", "early", key=1, source="till")
    )
    drain(geneva)

    assert published.continued == ()
    assert ran == ["early"]
    assert len(workflow.resume_requests) == 1


def test_a_caller_that_holds_the_workflow_may_publish_the_same_id(geneva: gd.Drive) -> None:
    """The publisher holds the id and does not wait for the workflow, or both would wait forever."""
    workflow = Order.create()
    drain(geneva)
    table = geneva.store.tables.workflows
    stored = threading.Event()

    def watch(reached: Point, _: Life | None) -> None:
        if reached == "stored":
            stored.set()

    publisher = threading.Thread(
        target=lambda: geneva.publish("paid", "first", key=1, id="1", source="bank")
    )
    with crash_points.watching(watch), Session(geneva.engine) as session:
        session.execute(select(table.c.id).where(table.c.id == workflow.id).with_for_update())
        publisher.start()
        assert stored.wait(TIME_LIMIT)
        second = geneva.publish("paid", "second", key=1, id="1", source="bank", session=session)
        session.commit()
    publisher.join(TIME_LIMIT)
    drain(geneva)

    assert second.duplicate
    assert ran == ["first"]
