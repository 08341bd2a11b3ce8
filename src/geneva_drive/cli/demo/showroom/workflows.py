"""A shop that sells furniture: orders, refunds, suppliers, imports, mails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

import geneva_drive as gd

# A service that the shop depends on. It fails in a part of the shop's history.
provider_is_away = threading.Event()

PayBackTo = Literal["The card it was paid with", "An account of the customer"]


COMMA = (
    "could not convert '12,40' to a number; resume with the data "
    '{"decimal": ","} if the supplier writes a comma'
)


class Pace:
    """How steps take their time: while the history of a week is made, only its clock moves."""

    def __init__(self) -> None:
        self.wait: Callable[[float], object] = time.sleep


pace = Pace()


def work(seconds: float) -> None:
    """Take a while, as a call of another service does."""
    pace.wait(seconds)


@dataclass
class OrderContext:
    customer: str
    total: Decimal
    lines: list[str] = field(default_factory=list)
    is_gift: bool = False
    on_credit: bool = False


@dataclass
class RefundContext:
    customer: str
    amount: Decimal
    reason: str


@dataclass
class RefundForm:
    amount: Decimal
    pay_back_to: PayBackTo = "The card it was paid with"


def pay(request: str) -> None:
    """Call the payment provider."""
    if not provider_is_away.is_set():
        work(1)
        return
    work(10)
    raise ConnectionError(f"No answer from the payment provider within 10 s (request {request})")


class Shipment(gd.Workflow):
    """Hand a parcel over when the depot has packed it."""

    @gd.wait_for_event("depot.packed", key=lambda self: self.hero_id)
    def packed(self, event: gd.Event) -> None: ...

    @gd.step
    def hand_over(self) -> None:
        """Hand the parcel to the carrier."""
        work(1)


class CustomerOrder(gd.Workflow[Any, OrderContext]):
    """Check, charge and ship an order."""

    @gd.step
    def validate(self) -> None:
        """Check the lines of the order."""
        work(0.5)

    @gd.task(depends_on=validate)
    def check_inventory(self) -> None:
        """Check that everything is in stock."""
        work(2)

    @gd.task(depends_on=validate)
    def check_fraud(self) -> None:
        """Ask whether the customer can be trusted."""
        work(1)

    @gd.approval(
        role="sales_manager",
        ask="Ship €{context.total:,} on credit to {context.customer}?",
        timeout=timedelta(days=2),
        depends_on=[check_inventory, check_fraud],
        skip_if=lambda self: not self.context.on_credit,
    )
    def credit(self, decision: gd.ApprovalDecision) -> None: ...

    @gd.map(lambda self: self.context.lines, depends_on=credit)
    def reserve_item(self, item: str) -> str:
        """Reserve an item in the depot."""
        work(1)
        return item

    @gd.task(
        depends_on=credit,
        retry=gd.Retry(max=3, backoff=gd.exponential(30), matching=ConnectionError),
    )
    def charge(self) -> None:
        """Charge the card."""
        pay(f"7f{self.id}c")

    ship = gd.child(
        Shipment,
        hero=lambda self: gd.HeroRef("Order", self.hero_id),
        depends_on=[reserve_item, charge],
    )

    @gd.decision(depends_on=ship)
    def route(self) -> list[str]:
        return ["gift_wrap"] if self.context.is_gift else ["receipt"]

    @gd.task(depends_on=route)
    def gift_wrap(self) -> None:
        """Wrap it, without prices."""

    @gd.task(depends_on=route)
    def receipt(self) -> None:
        """Mail the receipt."""


class Refund(gd.Workflow[Any, RefundContext]):
    """Pay an order back, if a sales manager agrees."""

    @gd.step
    def check_order(self) -> None:
        """Check that the order was paid."""

    @gd.approval(
        role="sales_manager",
        quorum=2,
        deny_self=True,
        ask="Refund €{context.amount:,} to {context.customer}?",
        show=lambda self: {
            "Order": self.hero_id,
            "Paid": f"€{self.context.amount:,}, by card",
            "Reason given": self.context.reason,
            "Earlier refunds": "1 in 4 years, €38.00",
        },
        form=RefundForm,
        initial=lambda self: {"amount": self.context.amount},
        timeout=timedelta(hours=4),
        on_timeout="escalate",
        escalate_to="director",
    )
    def consent(self, decision: gd.ApprovalDecision[RefundForm]) -> None: ...

    @gd.step
    def pay_back(self) -> None:
        """Pay the amount back to the card."""
        work(1)

    @gd.step
    def mail_customer(self) -> None:
        """Mail the customer."""
        work(0.5)


class Invoice(gd.Workflow):
    """Ask for the money, and book it when it comes."""

    @gd.step
    def send_invoice(self) -> None:
        """Mail the invoice."""

    @gd.wait_for_event("payment.received", key=lambda self: self.hero_id, timeout=timedelta(days=3))
    def payment(self, event: gd.Event) -> None: ...

    @gd.step
    def book(self) -> None:
        """Book the payment."""


class Signup(gd.Workflow):
    """Welcome a customer, and write again two days later."""

    queue = "mail"

    @gd.step
    def send_welcome(self) -> None:
        """Mail a welcome."""

    @gd.step(wait=timedelta(days=2))
    def send_reminder(self) -> None:
        """Mail a reminder."""


class Newsletter(gd.Workflow):
    """Write to every customer, and go on where it was after any crash."""

    queue = "mail"

    @gd.resumable_step(checkpoint_every=20)
    def send(self, it: gd.IterableStep) -> None:
        """Mail every customer."""
        customers = range(4_000)
        it.progress(total=len(customers))
        for _ in it.iterate_over(customers):
            work(0.1)


class PriceImport(gd.Workflow):
    """Import the prices of a supplier in twenty parts, four at a time."""

    queue = "imports"
    schedule = gd.cron("0 2 * * *", timezone="Europe/Amsterdam", missed="skip")

    @gd.batch(parallelism=4, checkpoint_interval=20, failure_strategy="isolate")
    def rows(self) -> gd.Batches:
        return gd.Batches.split(total=4_000, batch_size=200)

    @rows.worker
    def import_rows(self, batch: gd.Batch) -> int | gd.CheckpointYield:
        """Import a part of the rows."""
        if batch.id in self.context.get("damaged", ()) and "decimal" not in self.context:
            raise ValueError(COMMA)
        end = min(batch.position + batch.checkpoint_interval, batch.end)
        work(3)
        total: int = (batch.accumulated_results or 0) + end - batch.position
        if end < batch.end:
            return batch.checkpoint_yield(end, end - batch.start, total)
        return total

    @rows.aggregate
    def summarize(self, results: gd.BatchResults) -> int:
        """Add up the parts."""
        return sum(results.by_worker.values())


class PriceSync(gd.Workflow):
    """Send our prices to a reseller."""

    @gd.step
    def fetch(self) -> None:
        """Read our prices."""

    @gd.step(wait=timedelta(days=30))
    def send(self) -> None:
        """Send them to the reseller."""


class ChooseDepot(gd.Workflow):
    """Choose the depot that delivers to an address."""

    @gd.step(on_exception="cancel")
    def choose(self) -> None:
        """Look up the postcode."""
        raise LookupError(f"No depot delivers to postcode {self.hero_id!r}")


class Research(gd.Workflow):
    """Compare suppliers with an assistant, once a person has read its plan."""

    @gd.approval(
        role="buyer",
        ask="Run this plan? 14 tool calls, about €3.20.",
        timeout=timedelta(hours=20),
    )
    def plan(self, decision: gd.ApprovalDecision) -> None: ...

    @gd.map(lambda _: [f"supplier {number}" for number in range(1, 15)])
    def call_tool(self, item: str) -> str:
        """Ask a tool about one supplier."""
        if provider_is_away.is_set():
            raise TimeoutError(f"The tool server did not answer about {item}")
        work(0.5)
        return item
