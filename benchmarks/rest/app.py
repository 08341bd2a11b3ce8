"""The workflows of W10: a shop whose orders have mostly ended."""

from __future__ import annotations

from datetime import timedelta

import geneva_drive as gd


class Order(gd.Workflow):
    """Ten steps, of which one fails if the context says so."""

    @gd.step
    def validate(self) -> None: ...

    @gd.step
    def reserve(self) -> None: ...

    @gd.step(retry=gd.Retry(max=1, backoff=0.0))
    def charge(self) -> None:
        kind = self.context.get("kind")
        if kind == "failed" or (kind == "recovered" and self.attempt == 1):
            raise ConnectionError(f"card {self.hero_id} was declined")

    @gd.step
    def pick(self) -> None: ...

    @gd.step
    def pack(self) -> None: ...

    @gd.step
    def ship(self) -> None: ...

    @gd.step
    def invoice(self) -> None: ...

    @gd.step
    def notify(self) -> None: ...

    @gd.step
    def ask_for_review(self) -> None: ...

    @gd.step
    def archive(self) -> None: ...


class Invoice(Order):
    """The same under another name."""


class Reminder(gd.Workflow):
    @gd.step
    def welcome(self) -> None: ...

    @gd.step(wait=timedelta(days=365))
    def remind(self) -> None: ...


class Refund(gd.Workflow):
    @gd.step
    def check(self) -> None: ...

    @gd.approval(
        role="sales_manager", ask="Refund {context[amount]} euros?", timeout=timedelta(days=90)
    )
    def manager_approval(self, decision: gd.ApprovalDecision[None]) -> None: ...

    @gd.step
    def pay_back(self) -> None: ...


class Payment(gd.Workflow):
    @gd.step
    def send_invoice(self) -> None: ...

    @gd.wait_for_event("payment.received", key=lambda self: self.hero_id)
    def payment(self, event: gd.Event) -> None: ...


class Started(gd.Workflow):
    """What the measurement starts; no worker serves it."""

    @gd.step
    def begin(self) -> None: ...
