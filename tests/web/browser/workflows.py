"""The workflows that people look after in these tests."""

from __future__ import annotations

import threading

import geneva_drive as gd

provider_is_away = threading.Event()


class Delivery(gd.Workflow):
    """Fails while the provider is away."""

    @gd.step
    def charge(self) -> None:
        if provider_is_away.is_set():
            raise ConnectionError("No answer from the payment provider")

    @gd.step
    def ship(self) -> None: ...


class Payback(gd.Workflow):
    @gd.approval(
        role="sales_manager",
        ask="Refund {context[amount]} to {context[customer]}?",
        show=lambda self: {"Customer": self.context["customer"]},
    )
    def consent(self, decision: gd.ApprovalDecision) -> None: ...

    @gd.step
    def pay_back(self) -> None: ...


class Nap(gd.Workflow):
    @gd.step(wait="1d")
    def wake(self) -> None: ...


class Hopeless(gd.Workflow):
    @gd.step
    def fail(self) -> None:
        raise ValueError(self.context["text"])


class Listening(gd.Workflow):
    @gd.wait_for_event("payment.received", key=lambda self: self.hero_id)
    def payment(self, event: gd.Event) -> None: ...
