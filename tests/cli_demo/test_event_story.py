"""What the story of the events promises, after a run without worker processes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Session

from geneva_drive.testing import drain, time_travel
from tests.cli_demo.conftest import Shop


def test_orders_and_payments_that_are_published_keep_the_promises(shop: Shop) -> None:
    _run_orders(shop)

    checked = _checked(shop)

    assert [promise.faults for promise in checked] == [[], [], []]
    assert [promise.text for promise in checked] == [
        "2 workflows, each step done once and in order",
        "2 orders placed, each event started exactly one workflow",
        "1 payments, each shipped its order exactly once; 1 unpaid order reminded",
    ]


def test_lost_and_doubled_shipments_and_starts_are_faults(shop: Shop) -> None:
    _run_orders(shop)
    shop.modules["event_story"].pay(shop.drive, "2")
    charges = shop.tables.Charge
    with Session(shop.drive.engine) as session, session.begin():
        session.execute(delete(charges))
        session.add(shop.tables.Order(id=3, name="mug", cents=1))
        session.flush()
        session.add_all(charges(order_id=3, cents=1) for _ in range(2))
    shop.drive.publish("order.placed", {"order": "4"}, source="shop")

    _, started, paid = _checked(shop)

    assert started.faults == ["3 orders were placed, and 2 workflows started."]
    assert paid.faults == [
        "Order 3 was shipped 2 times.",
        "Order 2 was paid and not shipped.",
        "Order 1 was paid and not shipped.",
        "Order 3 was shipped unpaid.",
        "Order 2 was paid and reminded.",
    ]


def _run_orders(shop: Shop) -> None:
    """Place two orders, of which one is paid; the wait of the other times out."""
    story = shop.modules["event_story"]
    paid = story.place(shop.drive, "prints")
    story.place(shop.drive, "canvas")
    drain(shop.drive)
    story.pay(shop.drive, paid)
    drain(shop.drive)
    with time_travel(12 * shop.tables.DAY, drive=shop.drive):
        drain(shop.drive)


def _checked(shop: Shop) -> list[Any]:
    return shop.modules["event_story"].check(shop.drive, shop.look(), [])  # type: ignore[no-any-return]
