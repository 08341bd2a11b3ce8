"""The workflows that the tests of the REST API run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import geneva_drive as gd


@dataclass
class RefundForm:
    amount: int
    is_gift: bool = False


@dataclass
class ParcelContext:
    address: str
    weight: int = 1


class Parcel(gd.Workflow[object, ParcelContext]):
    @gd.step
    def pack(self) -> None: ...

    @gd.step(wait=timedelta(days=1))
    def ship(self) -> None: ...


class Refund(gd.Workflow):
    @gd.approval(
        role="sales_manager",
        ask="Refund **{context[amount]}** to <b>{context[customer]}</b>?",
        show=lambda self: {"customer": self.context["customer"]},
        form=RefundForm,
        initial=lambda self: {"amount": self.context["amount"]},
        escalate_to="director",
        on_reject="continue",
    )
    def manager_approval(self, decision: gd.ApprovalDecision[RefundForm]) -> None: ...

    @gd.step
    def pay(self) -> None: ...


class Payment(gd.Workflow):
    @gd.wait_for_event("payment.received", key=lambda self: self.hero_id)
    def payment(self, event: gd.Event) -> None: ...


class Transfer(gd.Workflow):
    @gd.step(keep_result=True)
    def order(self) -> str:
        return self.callback_url("bank")

    @gd.wait_for_callback()
    def bank(self, callback: gd.Callback) -> None: ...


class Flaky(gd.Workflow):
    @gd.step
    def fetch(self) -> None:
        raise ValueError("no answer")


class Counting(gd.Workflow):
    @gd.resumable_step(max_iterations=2)
    def count(self, it: gd.IterableStep) -> None:
        for _ in it.iterate_over([1, 2, 3]):
            pass


class Report(gd.Workflow):
    schedule = gd.cron("0 9 * * 1-5")

    @gd.step
    def write(self) -> None: ...
