# ruff: noqa: RUF012 - lists of tasks stand in class bodies as users write them
"""Tasks, decisions, children and jobs keep the types of what they are made of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, assert_type

from sqlalchemy.orm import Session

import geneva_drive as gd


class Parcel: ...


class Ship(gd.Workflow[Parcel]):
    @gd.step
    def pack(self) -> None: ...


@gd.job
def send_receipt(order_id: int, *, node: gd.JobNode | None = None) -> str:
    return f"{order_id} for {node.name if node else ''}"


@gd.job(name="report", queue="slow", retry=gd.Retry(max=3), timeout=timedelta(minutes=1))
async def report(day: str) -> float:
    return 1.0


def outside(workflow: gd.Workflow[Any]) -> bool:
    return True


made_job = gd.job(send_receipt.function, name="send again")


class Order(gd.Workflow[Parcel]):
    @gd.step
    def validate(self) -> int:
        return 1

    @gd.task
    def bare(self) -> int:
        return 1

    @gd.task()
    def called(self) -> str:
        return ""

    @gd.task(depends_on=validate, wait=5, skip_if="is_known", keep_result=True)
    def check_stock(self, more: int = 0) -> float:
        return 1.0

    @gd.task(depends_on=["validate", check_stock], retry=gd.Retry(max=3))
    async def check_fraud(self) -> bytes:
        return b""

    @gd.task(depends_on=None, transaction=True)
    def book(self, session: Session) -> str:
        return ""

    @gd.step(depends_on=[check_stock, check_fraud, "bare"])
    def charge(self) -> None: ...

    @gd.step(also_depends_on=book)
    def pay(self) -> None: ...

    @gd.resumable_step(depends_on=[gd.PREVIOUS, book])
    def post(self, it: gd.IterableStep) -> None: ...

    receipt = gd.task(job=send_receipt, depends_on=charge, keep_result=True)
    daily = gd.task(job=report, args={"day": "monday"}, queue="fast")
    made = gd.task(outside, depends_on=receipt)
    checks = [gd.task(outside, depends_on="validate") for _ in range(3)]
    joined = gd.step(outside, depends_on=checks)
    previous = gd.step(outside, depends_on=gd.PREVIOUS)

    ship = gd.child(Ship, hero=lambda self: self.hero, context={"fast": True}, detached=True)
    bill = gd.child("Bill", context=lambda self: {"total": 1}, after_step=charge)
    thank = gd.child(Ship, also_depends_on=[ship, "bill"], on_exception="skip")
    after_all = gd.task(outside, depends_on=[thank, receipt])

    @gd.decision(depends_on=ship)
    def by_name(self) -> str:
        return "gift_wrap"

    @gd.decision
    def by_list(self) -> list[str] | None:
        return None

    @gd.decision(wait=5)
    def by_method(self) -> Callable[[], None]:
        return self.gift_wrap

    @gd.decision
    async def later(self) -> list[str]:
        return []

    @gd.task(depends_on=[by_name, by_method])
    def gift_wrap(self) -> None: ...

    def is_known(self) -> bool:
        return True

    def results(self) -> None:
        assert_type(self.result_of(Order.check_stock), float)
        assert_type(self.result_of(Order.check_fraud), bytes)
        assert_type(self.result_of(Order.receipt), str)
        assert_type(self.result_of(self.daily), float)


class PaidOrder(Order):
    def called(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return super().called() + "!"

    @gd.task(depends_on=[Order.check_stock, called])
    def audit(self) -> None: ...

    @gd.task(depends_on=Order.receipt)
    def bare(self) -> int:
        return super().bare() + 1


order = Order()

assert_type(order.bare(), int)
assert_type(order.called(), str)
assert_type(order.check_stock(more=3), float)
assert_type(order.book(Session()), str)
assert_type(order.made(), bool)
assert_type(order.by_name(), str)
assert_type(order.by_list(), list[str] | None)
assert_type(order.bare, Callable[[], int])
assert_type(Order.bare(order), int)
assert_type(Order.checks[0](order), bool)
assert_type(PaidOrder().audit(), None)
assert_type(send_receipt(7), str)
assert_type(send_receipt(order_id=7, node=None), str)
assert_type(made_job(7), str)
assert_type(Order.dag_signature(), str)
assert_type(Order.compiled_dag(), dict[str, Any])


async def awaiting() -> None:
    assert_type(await order.check_fraud(), bytes)
    assert_type(await order.later(), list[str])
    assert_type(await report("monday"), float)
