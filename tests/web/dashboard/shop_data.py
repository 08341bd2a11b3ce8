"""Fills a Drive with the shop of the design's pictures: `fill(drive)`.

`python -m tests.web.dashboard.shop_data URL [scale]` does the same for a database, to look at.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock, SystemClock
from geneva_drive.definition import registry
from geneva_drive.testing import drain
from tests.web.dashboard import shop_workflows as shop

CUSTOMERS = ("Marta Lindqvist", "Halden Marine", "Norrland Timber AB", "Ola & Söner <b>AB</b>")
WORKERS = ("eu-1", "eu-2", "eu-3", "eu-4", "eu-5", "eu-6")


@dataclass(frozen=True)
class Shop:
    """The ids of workflows, for tests that need one of them."""

    failed_orders: tuple[Any, ...]  # paused at `charge`
    refund: Any  # waits for a second sales manager
    held: Any  # paused by hand
    imported: Any  # a batch of which two workers failed


def fill(drive: gd.Drive, scale: int = 1) -> Shop:
    """Make the shop; `scale` multiplies how many orders failed and how many people wait."""
    real = drive.clock
    drain(drive)  # registers the nightly schedule, so that it is not due within these four hours
    clock = ShiftedClock(SystemClock(), -timedelta(hours=4))
    drive.clock = clock
    held = _old_work(drive)
    drain(drive)
    clock.advance(timedelta(hours=1))
    refund = _approvals(drive)
    failed = [_order(drive, 2291 - n) for n in range(6 * scale)]
    _waits(drive, scale)
    drain(drive)
    clock.advance(timedelta(hours=2, minutes=30))
    imported = drive.workflows(shop.NightlyImport).create(
        hero=gd.HeroRef("File", "prices-2026-11-17.csv"), actor="schedule"
    )
    for number in range(4 * scale):
        _order(drive, 2400 + number, is_stripe_away=False)
    drain(drive)
    clock.advance(timedelta(minutes=29))
    for number in range(3):
        _order(drive, 2500 + number, is_stripe_away=False)
    drive.clock = real
    drive.housekeep()  # counts what ended, for the charts
    _register_workers(drive)
    _vote(drive, refund)
    held.pause(reason="supplier asked us to wait", actor="Jonas Berg")
    return Shop(tuple(one.id for one in failed), refund.id, held.id, imported.id)


def _old_work(drive: gd.Drive) -> Any:
    held = drive.workflows(shop.PriceSync).create(
        hero=gd.HeroRef("Supplier", "Norrland"), actor="schedule"
    )
    for code in ("9990", "9991", "9992"):
        drive.workflows(shop.ChooseDepot).create(hero=gd.HeroRef("Order", code))
    agent = drive.workflows(shop.AgentRun).create(hero=gd.HeroRef("Run", "research-0398"))
    drain(drive)
    (request,) = drive.approvals.pending(person="Ingrid Dahl")
    request.approve(by="Ingrid Dahl", comment="Go ahead.")
    drive.dead_letters.add(agent, actor="Jonas Berg", notes="lost its worker")
    return held


def _approvals(drive: gd.Drive) -> Any:
    refund = drive.workflows(shop.Refund).create(
        hero=gd.HeroRef("Order", "84-2291"),
        context=shop.RefundContext(Decimal("1240.00"), "Marta Lindqvist"),
        actor="Elin Holm",
    )
    drive.workflows(shop.Refund).create(
        hero=gd.HeroRef("Order", "84-2207"),
        context=shop.RefundContext(Decimal("8900.00"), "Halden Marine"),
        actor="Elin Holm",
    )
    drive.workflows(shop.AgentRun).create(hero=gd.HeroRef("Run", "research-0412"))
    drive.workflows(shop.AddSupplier).create(hero=gd.HeroRef("Supplier", "Norrland Timber AB"))
    drive.workflows(shop.PublishPriceList).create(hero=gd.HeroRef("PriceList", "Spring 2027"))
    return refund


def _order(drive: gd.Drive, number: int, is_stripe_away: bool = True) -> Any:
    context = shop.OrderContext(
        total=Decimal(number) / 2,
        customer=CUSTOMERS[number % len(CUSTOMERS)],
        lines=[f"item {line}" for line in range(number % 4)],
        is_stripe_away=is_stripe_away,
        on_credit=not is_stripe_away and number % 2 == 0,
    )
    return drive.workflows(shop.OrderWorkflow).create(
        hero=gd.HeroRef("Order", f"84-{number}"), context=context, actor="web-checkout"
    )


def _waits(drive: gd.Drive, scale: int) -> None:
    for number in range(5 * scale):
        drive.workflows(shop.PaymentWait).create(hero=gd.HeroRef("Order", f"85-{number}"))
    for number in range(8 * scale):
        drive.workflows(shop.SignupWorkflow).create(
            hero=gd.HeroRef("Subscriber", f"user-{number}@example.org")
        )


def _vote(drive: gd.Drive, refund: Any) -> None:
    jonas = gd.Actor("Jonas Berg", roles=["sales_manager"])
    (request,) = [one for one in drive.approvals.pending() if one.workflow_id == refund.id]
    request.approve(
        by=jonas,
        comment="Photos are clear.",
        data={"amount": Decimal("1240.00"), "pay_back_to": "The card it was paid with"},
    )


def _register_workers(drive: gd.Drive) -> None:
    """Let six workers be heard; they run nothing."""
    store = drive.store
    known = {
        name: "0" * 8
        for name, one in vars(shop).items()
        if isinstance(one, type) and registry.get(name) is one
    }
    year = timedelta(days=365)
    for name in WORKERS:
        register = partial(
            store.workers.register,
            worker_id=name,
            name=name,
            queues=None,
            signatures=known,
            lease=year,
        )
        store.write(register)


if __name__ == "__main__":
    drive = gd.Drive(sys.argv[1])
    drive.migrate()
    fill(drive, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    drive.close()
