"""The history of the shop: the week before its dashboard opens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import geneva_drive as gd
from geneva_drive.cli.demo.showroom import workflows as shop
from geneva_drive.cli.demo.showroom.counters import add_counters
from geneva_drive.clock import ShiftedClock, SystemClock
from geneva_drive.testing import drain

_WEEK = timedelta(days=7)
_CUSTOMERS = (
    "Marta Lindqvist",
    "Halden Marine",
    "Norrland Timber AB",
    "Ola & Söner",
    "Jules Girard",
)
_LINES = ("oak table", "lamp", "bookshelf", "chair", "mirror")


class LegacyShipment(gd.Workflow):
    """A class that the shop's app no longer imports."""

    @gd.step
    def ship(self) -> None: ...


class History:
    """Makes the week, from its beginning to now."""

    def __init__(self, drive: gd.Drive) -> None:
        self._drive = drive
        self._clock = ShiftedClock(SystemClock(), -_WEEK)
        self._number = 1000

    def make(self) -> None:
        with _as_history(self._drive, self._clock):
            self._quiet_week()
            self._day()
            self._refunds()
            self._outage()
            self._until_now()
        add_counters(self._drive)
        self._today()

    def _quiet_week(self) -> None:
        for number in range(10):
            self._orders(1)
            if number % 4 == 0:
                self._create(shop.ChooseDepot, "Postcode", f"99{number}")
            self._pass(timedelta(hours=12))
        self._held = self._create(shop.PriceSync, "Reseller", "Fjord Interiors", "schedule")
        self._pass(timedelta(0))
        self._held.pause(reason="the reseller asked us to wait", actor="Jonas Berg")

    def _day(self) -> None:
        self._pass_until(timedelta(hours=20))
        damaged = ["006", "013"]
        self._create(
            shop.PriceImport, "Supplier", "Norrland", "schedule", context={"damaged": damaged}
        )
        for number in range(6):
            self._orders(2)
            self._create(shop.Invoice, "Order", f"84-{700 + number}")
            for customer in range(6):
                hero_id = f"customer-{number}{customer}@example.org"
                self._create(shop.Signup, "Customer", hero_id, "web-checkout")
            if number % 2:
                self._create(shop.ChooseDepot, "Postcode", f"17{number}")
            self._pass(timedelta(hours=2, minutes=40))
        # Paid, but the bank left out a digit: nothing waits for this key.
        self._publish("payment.received", "84-70", order="84-70", cents=12_900)
        self._research()

    def _research(self) -> None:
        run = self._create(shop.Research, "Question", "cheaper oak")
        self._create(shop.Research, "Question", "lamps from Spain", "Elin Holm")
        self._pass(timedelta(0))
        [request] = [one for one in self._drive.approvals.pending() if one.workflow_id == run.id]
        shop.provider_is_away.set()
        request.approve(by="Ingrid Dahl", comment="Go ahead.")
        self._pass(timedelta(0))
        shop.provider_is_away.clear()

    def _refunds(self) -> None:
        self._pass_until(timedelta(hours=2, minutes=8))
        reasons = ("The frame arrived cracked, two photos attached", "Ordered twice by mistake")
        for number, reason in enumerate(reasons):
            context = shop.RefundContext(_CUSTOMERS[number], Decimal(1240 * (number + 1)), reason)
            self._create(shop.Refund, "Order", f"84-10{number:02}", "Elin Holm", context=context)
            self._pass(timedelta(minutes=32))
        votes = (("Jonas Berg", "Photos are clear."), ("Elsa Moe", "I called the customer."))
        requests = self._drive.approvals.pending("sales_manager")
        for request, (person, comment) in zip(requests, votes, strict=True):
            request.approve(by=person, comment=comment, data=request.initial)

    def _outage(self) -> None:
        """Follow an order through many hands until the payment provider goes away."""
        self._pass_until(timedelta(minutes=58))
        for _ in range(6):
            self._orders(1)
            self._pass(timedelta(minutes=1, seconds=30))
        order = self._order(on_credit=True)
        order.pause(reason="the address looks wrong", actor="Jonas Berg")
        self._pass(timedelta(minutes=6))
        order.resume(reason="address confirmed by phone", actor="Jonas Berg")
        self._pass(timedelta(minutes=4))
        self._order(on_credit=True)
        self._pass_until(timedelta(minutes=26))
        shop.provider_is_away.set()
        [request] = [one for one in self._drive.approvals.pending() if one.workflow_id == order.id]
        request.approve(by="Ingrid Dahl", comment="Known customer, fine.")
        while self._left > timedelta(seconds=20):
            # The last orders are old enough for all their attempts.
            self._orders(2 if self._left > timedelta(minutes=6) else 0)
            self._pass(timedelta(seconds=25))
        shop.provider_is_away.clear()

    def _until_now(self) -> None:
        self._pass_until(timedelta(0))
        late = timedelta(minutes=4)
        self._clock.advance(-late)
        for number in range(3):
            self._create(LegacyShipment, "Order", f"79-{number}")
        self._clock.advance(late)

    def _today(self) -> None:
        """Start what the workers of the shop do while its dashboard is open."""
        self._orders(3)
        self._create(shop.PriceImport, "Supplier", "Bergen Lighting", "schedule", context={})
        self._create(shop.Newsletter, "Issue", "Winter 2026", "Jonas Berg")

    def _orders(self, count: int) -> None:
        for _ in range(count):
            self._order()

    def _order(self, *, on_credit: bool = False) -> Any:
        self._number += 1
        number = self._number
        context = shop.OrderContext(
            customer=_CUSTOMERS[number % len(_CUSTOMERS)],
            total=Decimal(number % 90 * 35 + 49),
            lines=list(_LINES[: 1 + number % len(_LINES)]),
            is_gift=number % 7 == 0,
            on_credit=on_credit,
        )
        return self._create(
            shop.CustomerOrder, "Order", f"84-{number}", "web-checkout", context=context
        )

    def _create(
        self,
        workflow: type[gd.Workflow[Any, Any]],
        hero_type: str,
        hero_id: str,
        actor: str | None = None,
        **options: Any,
    ) -> Any:
        hero = gd.HeroRef(hero_type, hero_id)
        return workflow.using(self._drive).create(hero, actor=actor, **options)

    def _publish(self, type: str, key: str, **payload: Any) -> None:
        self._drive.publish(type, payload, key=key, source="bank")

    @property
    def _left(self) -> timedelta:
        """How far the history is from now; its steps take time, too."""
        return SystemClock().now() - self._clock.now()

    def _pass_until(self, left: timedelta) -> None:
        self._pass(max(self._left - left, timedelta(0)))

    def _pass(self, span: timedelta) -> None:
        """Run what is due, pack what waits for the depot, and let time pass."""
        drain(self._drive)
        packed = shop.Shipment.using(self._drive).paused().all()
        for shipment in packed:
            self._drive.publish(
                "depot.packed", {"by": "depot 3"}, key=shipment.hero_id, source="depot 3"
            )
        if packed:
            drain(self._drive)
        self._clock.advance(span)


@contextmanager
def _as_history(drive: gd.Drive, clock: ShiftedClock) -> Iterator[None]:
    now, wait = drive.clock, shop.pace.wait
    drive.clock = clock
    shop.pace.wait = clock.advance
    try:
        yield
    finally:
        drive.clock = now
        shop.pace.wait = wait
