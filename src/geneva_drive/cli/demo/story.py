"""What happens in the demo, chapter by chapter."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.cli.demo import workflows as shop
from geneva_drive.cli.demo.run import DemoRun
from geneva_drive.cli.demo.snapshot import Kill, Snapshot

_REFUSALS = 3


def tell(run: DemoRun) -> list[Kill]:
    """Run all chapters; each ends when the database says that it has happened."""
    open_shop(run)
    _sleep(run)
    _retry(run)
    _repair(run)
    _ask(run)
    kills = [_kill_step(run), *_kill_import(run)]
    _check_in_parallel(run)
    kills.append(_kill_fan_out(run))
    end(run)
    return kills


def open_shop(run: DemoRun, concurrency: int = 4) -> None:
    """Begin a story: create the shop's tables, and start two workers."""
    shop.Base.metadata.create_all(run.drive.engine)
    run.say(
        "Two worker processes start",
        "They share nothing but one SQLite file: no broker, no server.",
    )
    run.start_worker("A", concurrency)
    run.start_worker("B", concurrency)
    run.play(lambda now: set(now.leases) == {"A", "B"})


def end(run: DemoRun) -> None:
    """End a story, once all workflows have ended."""
    run.play(lambda now: now.has_ended, at_least=1)
    run.say("The end", "Every workflow has ended.")
    run.play(lambda now: now.has_ended, at_least=1)


def _sleep(run: DemoRun) -> None:
    run.say(
        "1. Workflows that sleep for days",
        "A welcome now, a reminder after 3 days, a question after 6 more. A workflow sleeps as a "
        "row in the database: no thread, no timer. (A day is 1.5 s here.)",
        shop.Signup,
    )
    with Session(run.drive.engine) as session, session.begin():
        for name in ("Ada", "Alan", "Edsger", "Grace"):
            customer = shop.Customer(name=name, has_ordered=name == "Grace")
            session.add(customer)
            # The customer and the workflow commit together, or not at all.
            shop.Signup.using(run.drive).create(customer, session=session)
    run.play(lambda now: _all_passed(now, "Signup", "send_welcome"), at_least=4)


def _retry(run: DemoRun) -> None:
    run.say(
        "2. A payment provider that refuses",
        'It answers "429 Too Many Requests". Each charge is attempted again, after a back-off '
        "that doubles each time, until the provider accepts it.",
        shop.Checkout,
    )
    with Session(run.drive.engine) as session, session.begin():
        session.add(shop.PaymentProvider(id=1, is_busy=True))
    for name in ("prints", "calendar", "poster", "mug", "postcards"):
        _order(run, shop.Checkout, name, postcode=None if name == "poster" else "1011 AB")
    refused = gd.Outcome.REATTEMPTED_BY_EXCEPTION
    run.play(lambda now: all(w.count(refused) >= _REFUSALS for w in now.of_type("Checkout")))
    with Session(run.drive.engine) as session, session.begin():
        session.get_one(shop.PaymentProvider, 1).is_busy = False
    run.note("The payment provider accepts requests again")
    run.play(lambda now: _all_passed(now, "Checkout", "charge_card"))


def _repair(run: DemoRun) -> None:
    [poster] = run.play(lambda now: bool(now.paused)).paused
    run.say(
        "3. A step that needs a person",
        "print_label of the poster failed, so its workflow paused there. All others go on. An "
        "operator looks at it ...",
    )
    run.play(lambda now: bool(now.paused), at_least=3)
    workflow = shop.Checkout.using(run.drive).find(poster.id)
    with Session(run.drive.engine) as session, session.begin():
        session.get_one(shop.Order, int(workflow.hero_id or "")).postcode = "2491 XS"
    workflow.resume(reason="postcode added", actor="olga@shop.example")
    run.say(
        "3. ... adds the postcode, and resumes it",
        "Only the failed step runs again: the card is not charged twice. The audit log keeps who "
        "resumed the workflow, and why.",
    )
    run.play(lambda now: _all_passed(now, "Checkout", "print_label"), at_least=2.5)


def _ask(run: DemoRun) -> None:
    run.say(
        "4. Refunds that a manager decides",
        "Three customers want their money back. Each workflow waits for the manager as a row in "
        "the database, held by no worker.",
        shop.Refund,
    )
    with Session(run.drive.engine) as session, session.begin():
        unhappy = select(shop.Order).where(shop.Order.name.in_(("prints", "calendar", "mug")))
        for order in session.scalars(unhappy):
            shop.Refund.using(run.drive).create(order, session=session)
    asked = run.play(lambda now: len(_requests(now)) == len(now.of_type("Refund")), at_least=3)
    requests = _requests(asked)
    requests["prints"].approve(by="mary@shop.example", comment="they arrived torn")
    requests["mug"].reject(by="mary@shop.example", comment="it was used")
    run.meanwhile(_answer_for_the_director)
    run.say(
        "4. Approved, rejected, and not answered",
        "After 5 days without an answer, the calendar goes to the director, whatever happens to "
        "the workers meanwhile.",
    )
    run.play(lambda now: len(_requests(now)) < len(requests), at_least=3)


def _answer_for_the_director(now: Snapshot) -> None:
    """Approve what was escalated a day ago: the calendar, whichever chapter is running."""
    for one in now.workflows:
        escalated_at = (e.at for e in one.audit_entries if e.command == "escalate")
        if one.request is not None and any(now.at - at > shop.DAY for at in escalated_at):
            one.request.approve(by="dora@shop.example", comment="a loyal customer")


def _requests(now: Snapshot) -> dict[str, gd.Approval]:
    """Return the requests that wait for a decision, by the name of the order."""
    return {one.hero_name: one.request for one in now.workflows if one.request is not None}


def _kill_step(run: DemoRun) -> Kill:
    run.say(
        "5. kill -9 in the middle of a step",
        "Three photo books are being rendered, which takes seconds. One of the workers is about "
        "to be killed, without a chance to clean up ...",
        shop.PhotoBook,
    )
    for name in ("wedding", "holiday", "newborn"):
        _order(run, shop.PhotoBook, name, postcode="3011 CD")
    run.play(lambda now: _rendering(now) is not None, at_least=1.8)
    kill = run.kill_worker(_rendering)
    run.say(
        f"5. Worker {kill.label} is dead",
        f"It was running {len(kill.held_ids)} steps. When its lease ends, they are recorded as "
        "recovered, and the other worker attempts them again. Completed steps stay completed.",
    )
    run.play(lambda now: now.has_recovered(kill))
    run.start_worker("C")
    run.play(lambda now: "C" in now.leases, at_least=2)
    return kill


def _kill_import(run: DemoRun) -> list[Kill]:
    run.say(
        f"6. {shop.ROWS:,} rows in one step",
        "A step imports a catalogue row by row. Every 100 rows, it saves its cursor in the same "
        "transaction. Its worker is about to be killed, twice ...",
        shop.Import,
    )
    shop.Import.using(run.drive).create()
    kills = [_kill_importer(run, "6. Killed once ...", shop.ROWS * 3 // 10)]
    run.start_worker("D")
    run.play(lambda now: now.has_recovered(kills[0]) and "D" in now.leases)
    kills.append(_kill_importer(run, "6. ... and killed again", shop.ROWS * 13 // 20))
    run.play(lambda now: now.loop is not None and now.loop.completed_at is not None)
    return kills


def _kill_importer(run: DemoRun, title: str, row: int) -> Kill:
    kill = run.kill_worker(lambda now: now.busiest(lambda e: e.completed_iterations >= row))
    loop = run.look().loop
    run.say(
        title,
        f"The import stopped at row {loop.completed_iterations if loop else 0:,}. When the lease "
        "ends, another worker continues from there: no row is lost, and none is imported twice.",
    )
    return kill


def _check_in_parallel(run: DemoRun) -> None:
    run.say(
        "7. Checks that run in parallel",
        "Three checks run side by side, on any free worker. One fails, and only that one is "
        "attempted again. The card is charged after all three.",
        shop.CheckedOrder,
    )
    run.start_worker("E")
    _order(run, shop.CheckedOrder, "wine", postcode="9711 LM")
    run.play(lambda now: _all_passed(now, "CheckedOrder", "charge_card") and "E" in now.leases)


def _kill_fan_out(run: DemoRun) -> Kill:
    run.say(
        f"8. {len(shop.MUTATIONS)} nodes, created at run time",
        "A graph with a node for each mutation of a ledger, and one that adds them up. Half way, "
        "a worker is about to be killed ...",
        shop.close_ledger.function,
    )
    shop.close_ledger.using(run.drive).start(mutations=shop.MUTATIONS)
    kill = run.kill_worker(_booking)
    run.say(
        f"8. Killed half way, holding {len(kill.held_ids)} nodes",
        "All other nodes go on. When the lease ends, these are attempted again. The sum waits "
        "until all nodes are done.",
    )
    run.play(lambda now: now.has_recovered(kill))
    return kill


def _rendering(now: Snapshot) -> str | None:
    return now.busiest(lambda e: e.step_name == "render_pages")


def _booking(now: Snapshot) -> str | None:
    [ledger] = now.of_type("close_ledger")
    is_half_way = len(ledger.done_names) >= len(shop.MUTATIONS) // 2
    return now.busiest(lambda e: e.workflow_id == ledger.id) if is_half_way else None


def _order(
    run: DemoRun, kind: type[gd.Workflow[Any, Any]], name: str, *, postcode: str | None
) -> None:
    with Session(run.drive.engine) as session, session.begin():
        order = shop.Order(name=name, cents=1995, postcode=postcode)
        session.add(order)
        kind.using(run.drive).create(order, session=session)


def _all_passed(now: Snapshot, type_name: str, step_name: str) -> bool:
    return all(step_name in workflow.done_names for workflow in now.of_type(type_name))
