"""Publishing: what is refused, what is stored once, and what commits with a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event as sqlalchemy_event
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive import errors
from geneva_drive.testing import drain
from tests.approving import StandingClock, everything_stored, reach

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


class Order(gd.Workflow[Any]):
    type_name = "test_publishing.Order"

    @gd.wait_for_event("paid")
    def payment(self, event: gd.Event) -> None:
        ran.append(event.payload)


class Till(gd.Workflow[Any]):
    type_name = "test_publishing.Till"

    @gd.step(transaction=True)
    def charge(self, session: Session) -> None:
        published = self.handle.drive.publish("paid", "by the till", id="till")
        ran.append((published.duplicate, published.continued))
        if self.context.get("fails"):
            raise RuntimeError("no money")


@pytest.mark.parametrize(
    ("type_", "given", "message"),
    [
        ("", {}, "The type of an event must not be empty."),
        (None, {}, "The type of an event must be text, got None."),
        ("a b", {}, "The type of an event must not contain blanks or '*', got 'a b'."),
        ("a.*", {}, "The type of an event must not contain blanks or '*', got 'a.*'."),
        ("x" * 192, {}, "The type of an event must be at most 191 characters long, got 192."),
        ("a", {"payload": object()}, "The payload is of type object, which cannot be stored"),
        ("a", {"payload": "x" * (1024**2)}, "The payload"),
        (
            "a",
            {"payload": {"at": [datetime(2026, 3, 1, 9, 30)]}},  # noqa: DTZ001 - refused for it
            "The payload holds the moment 2026-03-01T09:30:00 without a time zone",
        ),
        ("a", {"id": "x" * 192}, "publish(id=...) must be at most 191 characters long, got 192."),
        ("a", {"source": ""}, "publish(source=...) must not be empty."),
        ("a", {"key": True}, "publish(key=...) must be text or the id of a record, got True."),
        ("a", {"ttl": timedelta(seconds=-1)}, "publish(ttl=...)"),
        ("a", {"ttl": "soon"}, "publish(ttl=...)"),
        ("a", {"session": 1}, "publish(session=...) must be a SQLAlchemy Session or Connection"),
    ],
)
def test_what_is_no_event_is_refused_and_nothing_is_stored(
    geneva: gd.Drive, type_: Any, given: dict[str, Any], message: str
) -> None:
    before = everything_stored(geneva)

    with pytest.raises((errors.InvalidInput, errors.PayloadTooLarge)) as refusal:
        geneva.publish(type_, **given)

    assert message in str(refusal.value)
    assert everything_stored(geneva) == before


def test_an_id_is_stored_once_per_source(geneva: gd.Drive) -> None:
    first = geneva.publish("paid", 1, id="1", source="bank")
    again = geneva.publish("paid", 2, id="1", source="bank")
    other = geneva.publish("paid", 3, id="1", source="shop")

    assert (again.duplicate, again.payload, again.number) == (True, 1, first.number)
    assert (other.duplicate, other.payload) == (False, 3)
    assert [one.payload for one in geneva.published()] == [3, 1]


def test_stored_events_are_found_by_type_key_and_number(geneva: gd.Drive) -> None:
    moment = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    paid = [geneva.publish("paid", {"at": moment}, key=key) for key in (1, 2)]
    sent = geneva.publish("sent", '{"$type":"datetime","value":"2026-03-01T09:30:00"}', key=1)

    assert [one.number for one in geneva.published()] == [sent.number, *_numbers(paid)[::-1]]
    assert _numbers(geneva.published("paid", 1)) == [paid[0].number]
    assert _numbers(geneva.published(key=1, limit=1)) == [sent.number]
    assert geneva.published_event(str(paid[0].number)).payload == {"at": moment}
    for unknown in (10_000, "no number", None):
        with pytest.raises(errors.NotFound):
            geneva.published_event(unknown)


def _numbers(events: list[gd.Event] | list[Any]) -> list[Any]:
    return [one.number for one in events]


def test_an_event_is_published_with_the_transaction_of_a_session(geneva: gd.Drive) -> None:
    reach(geneva, Order)
    with Session(geneva.engine) as session:
        geneva.publish("paid", "rolled back", session=session)
        session.rollback()
    assert (drain(geneva), geneva.published()) == (0, [])

    with Session(geneva.engine) as session, session.begin():
        geneva.publish("paid", "committed", id="1", session=session)
        again = geneva.publish("paid", "twice", id="1", session=session)
        assert (again.duplicate, ran) == (True, [])
    assert Order.paused().count() == 0
    drain(geneva)

    assert ran == ["committed"]


def test_an_event_on_a_connection_is_delivered_by_housekeeping(geneva: gd.Drive) -> None:
    reach(geneva, Order)

    with geneva.engine.begin() as connection:
        geneva.publish("paid", "committed", session=connection)
    assert Order.paused().count() == 1
    drain(geneva)

    assert ran == ["committed"]


@pytest.mark.parametrize("fails", [False, True])
def test_a_transactional_body_publishes_with_its_writes_or_not_at_all(
    geneva: gd.Drive, fails: bool
) -> None:
    reach(geneva, Order)

    Till.create(context={"fails": fails})
    drain(geneva)

    assert ran == [(False, ())] + ([] if fails else ["by the till"])
    assert len(geneva.published()) == (0 if fails else 1)


def test_an_event_is_published_from_async_code(geneva: gd.Drive) -> None:
    reach(geneva, Order)

    event = asyncio.run(geneva.apublish("paid", "async", id="1"))
    drain(geneva)

    assert (len(event.continued), ran) == (1, ["async"])


def test_an_old_event_is_removed_once_no_ongoing_workflow_has_heard_it(geneva: gd.Drive) -> None:
    clock = StandingClock()
    geneva.clock = clock
    workflow = reach(geneva, Order)
    workflow.pause()
    geneva.publish("paid", "kept", ttl=60)
    geneva.publish("paid", "removed", ttl=60)
    clock.advance(timedelta(minutes=1))

    drain(geneva)
    assert [one.payload for one in geneva.published()] == ["kept"]
    workflow.resume()
    drain(geneva)
    drain(geneva)

    assert (ran, geneva.published()) == (["kept"], [])


@contextmanager
def _counting(drive: gd.Drive) -> Iterator[list[str]]:
    statements: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        statements.append(statement.split()[0])

    sqlalchemy_event.listen(drive.engine, "after_cursor_execute", note)
    yield statements
    sqlalchemy_event.remove(drive.engine, "after_cursor_execute", note)


EACH_ITS_STATEMENT = ["INSERT", "SELECT", "UPDATE"]
STATEMENTS = {
    "sqlite": EACH_ITS_STATEMENT,
    "mysql": EACH_ITS_STATEMENT,
    "postgresql": ["WITH", "WITH"],  # it is stored; then looked at again, and marked
}


def test_an_event_that_nothing_waits_for_takes_few_statements(
    geneva: gd.Drive, database: str
) -> None:
    geneva.publish("first.use")

    with _counting(geneva) as statements:
        geneva.publish("unheard", {"a": 1}, key=1)

    assert statements == STATEMENTS[database]


@pytest.mark.databases("postgresql")
def test_an_event_releases_the_only_wait_for_it_as_it_is_stored(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Order)

    with _counting(geneva) as statements:
        published = geneva.publish("paid", "in one")
    drain(geneva)

    assert statements == STATEMENTS["postgresql"]
    assert published.continued == (workflow.id,)
    assert ran == ["in one"]
