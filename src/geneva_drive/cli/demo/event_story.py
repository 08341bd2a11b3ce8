"""The story of events: they start orders, and pay for them, even while no worker runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.cli.demo import story
from geneva_drive.cli.demo import workflows as shop
from geneva_drive.cli.demo.promises import Promise, recorded_once
from geneva_drive.cli.demo.run import DemoRun
from geneva_drive.cli.demo.snapshot import Kill, Snapshot
from geneva_drive.drive.publication import PublishedEvent

_PAYMENT = "payment.received"
_CENTS = 1995
_PAID_ORDERS = 3


def tell(run: DemoRun) -> list[Kill]:
    """Run all chapters; each ends when the database says that it has happened."""
    story.open_shop(run)
    prints, _canvas, mug = _place(run)
    _pay(run, prints)
    _pay_without_workers(run, mug)
    run.say(
        "4. A payment that does not come",
        "The canvas is not paid for. After 12 days, the wait times out, and a reminder is sent.",
    )
    run.play(lambda now: now.has_ended, at_least=3)
    story.end(run)
    return []  # the workers that were killed held no step


def _place(run: DemoRun) -> list[str]:
    run.say(
        "1. Events that start workflows",
        "Three orders are placed. Each is published as an event, which commits with the order and "
        "starts one workflow. It sends an invoice, and waits for the payment as a row in the "
        "database: no thread, no worker, no polling.",
        shop.PaidOrder,
    )
    orders = [place(run.drive, name) for name in ("prints", "canvas", "mug")]
    run.play(lambda now: _waiting(now) == len(orders), at_least=3.5)
    return orders


def _pay(run: DemoRun, order: str) -> None:
    run.say(
        "2. A payment that is reported twice",
        "The bank publishes it with the key of the order that waits. Then it does what webhooks "
        "do: it sends the same event again.",
    )
    _report_payment(run, order)
    run.play(lambda now: _shipped(now) == 1, at_least=1.5)
    _report_payment(run, order)
    run.play(lambda now: not now.running, at_least=2.5)


def _pay_without_workers(run: DemoRun, order: str) -> None:
    run.say(
        "3. Payments while no worker runs",
        "Both workers are killed. Meanwhile the mug is paid for, and so is a calendar, ordered a "
        "moment ago: its payment is there before its workflow waits.",
    )
    for label in ("A", "B"):
        run.kill_worker(lambda now, label=label: label if label in now.leases else None)  # type: ignore[misc]
    _report_payment(run, order)
    _report_payment(run, place(run.drive, "calendar"))
    run.play(lambda now: not now.running, at_least=3)
    run.say(
        "3. ... are not lost",
        "A new worker starts. It finds the events in the database: the mug is shipped, and the "
        "calendar does not even have to wait.",
    )
    run.start_worker("C")
    run.play(lambda now: _shipped(now) == _PAID_ORDERS, at_least=2.5)


def place(drive: gd.Drive, name: str) -> str:
    """Add an order and publish it, in one transaction; return its number."""
    with Session(drive.engine) as session, session.begin():
        order = shop.Order(name=name, cents=_CENTS)
        session.add(order)
        session.flush()
        drive.publish("order.placed", {"order": str(order.id)}, source="shop", session=session)
        return str(order.id)


def pay(drive: gd.Drive, order: str) -> PublishedEvent:
    """Publish the payment of an order, always under the same id."""
    payload = {"order": order, "cents": _CENTS}
    return drive.publish(_PAYMENT, payload, source="bank", id=f"transfer-{order}", key=order)


def _report_payment(run: DemoRun, order: str) -> None:
    event = pay(run.drive, order)
    if event.duplicate:
        answer = "a duplicate, without effect"
    elif event.continued:
        answer = f"workflow {event.continued[0]} continues"
    else:
        answer = "stored until an order waits for it"
    run.note(f"publish {_PAYMENT}, key {order}, id {event.id}: {answer}", "bold cyan")


def _waiting(now: Snapshot) -> int:
    return sum(e.state is gd.StepState.WAITING for e in now.executions)


def _shipped(now: Snapshot) -> int:
    done = (e for e in now.executions if e.state is gd.StepState.COMPLETED)
    return sum(e.step_name == "ship" for e in done)


def check(drive: gd.Drive, snapshot: Snapshot, kills: Sequence[Kill]) -> list[Promise]:
    with Session(drive.engine) as session:
        return [
            recorded_once(snapshot, kills, drive),
            started_once(drive, snapshot),
            paid_once(drive, session),
        ]


def started_once(drive: gd.Drive, snapshot: Snapshot) -> Promise:
    events = drive.published("order.placed")
    counts = Counter(key for event in events for key in event.heard_by().started)
    workflows = [one.id for one in snapshot.of_type("PaidOrder")]
    faults = [f"Workflow {key} was started by {counts[key]} events." for key in _wrong(counts)]
    if not len(events) == len(counts) == len(workflows):
        faults.append(f"{len(events)} orders were placed, and {len(workflows)} workflows started.")
    return Promise(f"{len(events)} orders placed, each event started exactly one workflow", faults)


def _wrong(counts: Counter[Any]) -> Iterator[Any]:
    return (key for key, count in counts.items() if count != 1)


def paid_once(drive: gd.Drive, session: Session) -> Promise:
    payments = {event.key: event.payload["cents"] for event in drive.published(_PAYMENT)}
    shipped = Counter(str(key) for key in session.scalars(select(shop.Charge.order_id)))
    reminders = select(shop.Order.id).join(shop.Email, shop.Email.to == shop.Order.name)
    asked = session.scalars(reminders.where(shop.Email.subject == "Please pay"))
    reminded = [str(key) for key in asked]
    faults = [f"Order {key} was shipped {shipped[key]} times." for key in _wrong(shipped)]
    faults += [f"Order {key} was paid and not shipped." for key in payments if key not in shipped]
    faults += [f"Order {key} was shipped unpaid." for key in shipped if key not in payments]
    faults += [f"Order {key} was paid and reminded." for key in reminded if key in payments]
    return Promise(
        f"{len(payments)} payments, each shipped its order exactly once; {len(reminded)} unpaid "
        f"order reminded",
        faults,
    )
