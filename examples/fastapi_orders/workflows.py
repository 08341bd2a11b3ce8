"""What happens to an order, from the click to the doorbell."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.orm import Session

import geneva_drive as gd
from examples.fastapi_orders.database import Order

LARGE = 500  # euros, from which on a manager is asked
PAID = "order.paid"


class Fulfilment(gd.Workflow[Order]):
    @gd.approval(
        role="manager",
        ask="Deliver an order of {hero.total} euros to {hero.customer}?",
        skip_if=lambda self: self.hero.total < LARGE,
        timeout=timedelta(days=1),
    )
    def large_order(self, decision: gd.ApprovalDecision) -> None: ...

    # The event may come before the workflow waits for it.
    @gd.wait_for_event(PAID, key=lambda self: self.hero_id, timeout=timedelta(days=7))
    def payment(self, event: gd.Event) -> None: ...

    # The order and the end of the step commit together: it is shipped once, whatever crashes.
    @gd.step(transaction=True)
    def ship(self, session: Session) -> None:
        order = session.get_one(Order, self.hero.id)
        order.status = "shipped"

    @gd.step(wait=timedelta(days=14), retry=gd.Retry(max=5))
    async def ask_for_review(self) -> None:
        print(f"Dear {self.hero.customer}, how do you like it?")
