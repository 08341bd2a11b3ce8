"""The workflows that people look after in these tests."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import geneva_drive as gd

provider_is_away = threading.Event()
tickets_to_print = threading.Semaphore(0)


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


@dataclass
class TicketContext:
    price: Decimal
    holder: str
    seats: int = 1


class Ticket(gd.Workflow[Any, TicketContext]):
    @gd.step
    def check_price(self) -> None:
        """Check the price."""

    @gd.step(wait="1d")
    def remind(self) -> None: ...


class Printing(gd.Workflow):
    """Prints as many tickets as the test allows."""

    @gd.batch(checkpoint_interval=2, parallelism=1)
    def sheets(self) -> gd.Batches:
        return gd.Batches.split(total=8, batch_size=4)

    @sheets.worker
    def print_sheet(self, batch: Any) -> None:
        for _ in batch.items():
            tickets_to_print.acquire()

    @sheets.aggregate
    def pack(self, results: Any) -> None: ...
