"""The shop as it is served: its workflows, a customer who orders, and a depot that packs."""

from __future__ import annotations

from decimal import Decimal

import geneva_drive as gd
from geneva_drive.cli.demo.showroom.workflows import CustomerOrder, OrderContext, Shipment


class WebCheckout(gd.Workflow):
    """A customer orders something, so that there is something to watch."""

    schedule = gd.cron("*/20 * * * * *", missed="skip")

    @gd.step
    def place_order(self) -> None:
        """Place an order."""
        lines = ["lamp", "shelf", "chair"][: 1 + self.id % 3]
        context = OrderContext("Nora Visser", Decimal(49 * len(lines)), lines, is_gift=True)
        CustomerOrder.create(
            gd.HeroRef("Order", f"web-{self.id}"), context=context, actor="web-checkout"
        )


class Depot(gd.Workflow):
    """Pack what was charged."""

    schedule = gd.cron("10/20 * * * * *", missed="skip")

    @gd.step
    def pack(self) -> None:
        """Pack every parcel that waits for it."""
        for shipment in Shipment.paused():
            gd.current_drive().publish("depot.packed", {"by": "depot 3"}, key=shipment.hero_id)
