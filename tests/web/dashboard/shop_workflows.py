"""The workflow classes of the shop in the pictures of the design."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

import geneva_drive as gd


class APIConnectionError(Exception):
    __module__ = "stripe.error"


class AddressUnknown(Exception):
    __module__ = "shop.errors"


@dataclass
class OrderContext:
    total: Decimal
    customer: str
    card_token: str = "tok_4242"
    lines: list[str] = field(default_factory=list)
    is_stripe_away: bool = True
    on_credit: bool = False


@dataclass
class RefundForm:
    amount: Decimal
    pay_back_to: str = "The card it was paid with"


@dataclass
class RefundContext:
    amount: Decimal
    customer: str
    reason: str = "Arrived with a cracked frame, two photos attached"


class ShipWorkflow(gd.Workflow):
    @gd.wait_for_event("depot.packed", key=lambda self: self.hero_id)
    def packed(self, event: gd.Event) -> None: ...

    @gd.step
    def hand_over(self) -> None:
        """Hand the parcel to the carrier."""


class OrderWorkflow(gd.Workflow[Any, OrderContext]):
    @gd.step
    def validate(self) -> None:
        """Check the order's lines."""

    @gd.task(depends_on=validate)
    def check_inventory(self) -> None: ...

    @gd.task(depends_on=validate)
    def check_fraud(self) -> None: ...

    @gd.task(depends_on=validate, skip_if=lambda self: True)
    def enrich(self) -> None: ...

    @gd.approval(
        role="sales_manager",
        ask="Ship €{context.total} on credit to {context.customer}?",
        timeout=timedelta(days=2),
        depends_on=[check_inventory, check_fraud],
        skip_if=lambda self: not self.context.on_credit,
    )
    def manager_approval(self, decision: Any) -> None: ...

    @gd.map(lambda self: self.context.lines, depends_on=manager_approval)
    def reserve_item(self, item: str) -> str:
        return item

    @gd.task(
        depends_on=[manager_approval, enrich],
        on_exception=gd.ExceptionPolicy("reattempt", max_reattempts=3),
    )
    def charge(self) -> None:
        """Charge the card."""
        if self.context.is_stripe_away:
            raise APIConnectionError(
                f"Request to api.stripe.com timed out after 10 s (request 7f{self.hero_id})"
            )

    ship = gd.child(
        ShipWorkflow, hero=lambda self: self.hero, depends_on=["reserve_item", "charge"]
    )

    @gd.decision(depends_on=ship)
    def route(self) -> list[str]:
        return ["receipt"]

    @gd.task(depends_on=route)
    def gift_wrap(self) -> None: ...

    @gd.task(depends_on=route)
    def receipt(self) -> None: ...


class PaymentWait(gd.Workflow):
    @gd.wait_for_event("payment.received", key=lambda self: self.hero_id, timeout=timedelta(days=3))
    def payment(self, event: gd.Event) -> None: ...


class Refund(gd.Workflow[Any, RefundContext]):
    @gd.step
    def check_order(self) -> None: ...

    @gd.step
    def check_photos(self) -> None: ...

    @gd.approval(
        role="sales_manager",
        quorum=2,
        ask="Refund €{context.amount} to {context.customer}?",
        show=lambda self: {
            "Order": self.hero_id,
            "Paid": f"€{self.context.amount:,}, by card, on 3 Nov 2026",
            "Reason given": self.context.reason,
            "Earlier refunds": "1 in 4 years, €38.00",
        },
        form=RefundForm,
        initial=lambda self: {"amount": self.context.amount},
        timeout=timedelta(hours=4),
        on_timeout="escalate",
        escalate_to="director",
    )
    def manager_approval(self, decision: Any) -> None: ...

    @gd.step
    def pay_back(self) -> None:
        """Pay the amount back to the card."""

    @gd.step
    def mail_customer(self) -> None:
        """Mail the customer."""


class AgentRun(gd.Workflow):
    @gd.approval(
        approvers=["Ingrid Dahl"],
        ask="Run this plan? 14 tool calls, about €3.20.",
        timeout=timedelta(hours=20),
    )
    def plan(self, decision: Any) -> None: ...

    @gd.map(lambda self: [f"tool {n}" for n in range(14)])
    def call_tool(self, item: str) -> str:
        raise TimeoutError(f"The tool server did not answer within {len(item)} s")


class AddSupplier(gd.Workflow):
    @gd.approval(
        role="sales_manager",
        ask="Add as a supplier, credit of 30 days?",
        timeout=timedelta(days=3),
    )
    def agree(self, decision: Any) -> None: ...


class PublishPriceList(gd.Workflow):
    @gd.approval(role="buyer", ask="Publish 1,204 new prices?", timeout=timedelta(days=2))
    def agree(self, decision: Any) -> None: ...


class NightlyImport(gd.Workflow):
    queue = "imports"

    @gd.batch(parallelism=4, failure_strategy="isolate")
    def rows(self) -> gd.Batches:
        return gd.Batches.split(total=1_200, batch_size=60)

    @rows.worker
    def process(self, batch: Any) -> int:
        if batch.id in ("006", "013"):
            raise ValueError(f"could not convert string to float: '{batch.id[2]}2,40'")
        return int(batch.end - batch.start)

    @rows.aggregate
    def summarize(self, results: Any) -> None: ...


class SignupWorkflow(gd.Workflow):
    queue = "mail"

    @gd.step
    def send_welcome(self) -> None:
        """Mail a welcome."""

    @gd.step(wait=timedelta(days=2))
    def send_reminder(self) -> None:
        """Mail a reminder."""


class PriceSync(gd.Workflow):
    schedule = gd.cron("0 3 * * *", timezone="Europe/Amsterdam")

    @gd.step
    def fetch(self) -> None: ...

    @gd.step(wait=timedelta(days=30))
    def publish(self) -> None: ...


class ChooseDepot(gd.Workflow):
    @gd.step(on_exception="cancel")
    def choose_depot(self) -> None:
        raise AddressUnknown(f"No depot serves postal code '{self.hero_id}'")
