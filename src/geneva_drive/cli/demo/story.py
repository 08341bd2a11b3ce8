"""What happens in the demo, chapter by chapter."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import inspect
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.cli.demo.graph_story import run_side_by_side
from geneva_drive.cli.demo.run import Stage
from geneva_drive.cli.demo.snapshot import Kill, Snapshot
from geneva_drive.cli.demo.workflows import (
    DAY,
    Base,
    Catalogue,
    CatalogueRow,
    Checkout,
    Customer,
    Import,
    Order,
    PaymentProvider,
    PhotoBook,
    Signup,
)

_REFUSALS = 3
_OPERATOR = "olga@shop.example"
_INTO_THE_STEP = timedelta(seconds=1)
_ROWS = 100_000
_DELIVERED_AT_ONCE = 10_000


def tell(stage: Stage) -> list[Kill]:
    """Go through all chapters; every one waits until the database says that it has happened."""
    _open(stage)
    _sleep_for_days(stage)
    _be_refused(stage)
    _be_repaired(stage)
    kills = [_be_killed(stage), *_be_killed_twice(stage), run_side_by_side(stage)]
    _end(stage)
    return kills


def _open(stage: Stage) -> None:
    Base.metadata.create_all(stage.drive.engine)
    stage.say(
        "Two worker processes start",
        "They share nothing but one SQLite file: no broker, no server.",
    )
    for label in ("A", "B"):
        stage.start_worker(label)
    stage.play(lambda now: set(now.leases) == {"A", "B"})


def _sleep_for_days(stage: Stage) -> None:
    stage.say(
        "1. Workflows that sleep for days",
        "A welcome now, a reminder after 3 days, a question after 6 more. Until then each "
        "signup is a row in the database: no thread, no timer, nothing to lose. "
        f"(Time is compressed: a day lasts {DAY.total_seconds()} seconds.)",
    )
    with Session(stage.drive.engine) as session, session.begin():
        for name in ("Ada", "Alan", "Edsger", "Grace"):
            customer = Customer(name=name, has_ordered=name == "Grace")
            session.add(customer)
            # In the same transaction as the customer: both are there, or neither.
            Signup.using(stage.drive).create(customer, session=session)
    stage.play(lambda now: _all_passed(now, "Signup", "send_welcome"), at_least=2.5)


def _be_refused(stage: Stage) -> None:
    stage.say(
        "2. A payment provider that refuses",
        '"429 Too Many Requests", it says. So every charge is attempted again, after a '
        "back-off that doubles each time, until the provider takes it.",
    )
    with Session(stage.drive.engine) as session, session.begin():
        session.add(PaymentProvider(id=1, is_busy=True))
    for name in ("prints", "calendar", "poster", "mug", "postcards"):
        _order(stage, Checkout, name, postcode=None if name == "poster" else "1011 AB")
    stage.play(lambda now: _refusals(now) >= _REFUSALS)
    with Session(stage.drive.engine) as session, session.begin():
        session.get_one(PaymentProvider, 1).is_busy = False
    stage.note("The payment provider takes requests again")
    stage.play(lambda now: _all_passed(now, "Checkout", "charge_card"))


def _be_repaired(stage: Stage) -> None:
    paused = stage.play(_paused)
    [poster] = [w for w in paused.workflows if w.state is gd.WorkflowState.PAUSED]
    stage.say(
        "3. A step that needs a person",
        f"{poster.executions[-1].step_name} of the {poster.hero_name} failed, so its workflow "
        "paused where it was. All others go on. Somebody looks at it ...",
    )
    stage.play(_paused, at_least=2.2)
    handle = Checkout.using(stage.drive).find(poster.id)
    with Session(stage.drive.engine) as session, session.begin():
        session.get_one(Order, int(handle.hero_id or "")).postcode = "2491 XS"
    handle.resume(reason="postcode added", actor=_OPERATOR)
    entry = handle.audit_entries[-1]
    stage.note(f"{poster.title}: {entry.command} by {entry.actor}, {entry.reason}")
    stage.say(
        "3. ... repaired and resumed",
        "The order has a postcode now. The failed step runs again, and only that one: the card "
        "is not charged twice. Who resumed it, and why, is kept with the workflow.",
    )
    stage.play(lambda now: _all_passed(now, "Checkout", "print_label"), at_least=2)


def _be_killed(stage: Stage) -> Kill:
    stage.say(
        "4. kill -9 in the middle of a step",
        "Three photo books are being rendered, which takes a while. Now one of the workers "
        "is about to be killed, without a chance to clean up ...",
    )
    for name in ("wedding", "holiday", "newborn"):
        _order(stage, PhotoBook, name, postcode="3011 CD")
    far_enough = stage.pace(_INTO_THE_STEP)
    snapshot = stage.play(lambda now: bool(_rendering(now, far_enough)))
    labels = _rendering(snapshot, far_enough)
    label = max(labels, key=labels.count)
    kill = stage.kill_worker(label)
    stage.say(
        f"4. Worker {label} is dead",
        f"Its process {kill.pid} was in the middle of {len(kill.held_ids)} step executions and "
        "said no goodbye. Once its lease has run out, the other worker takes over.",
    )
    stage.play(lambda now: now.has_recovered(kill))
    stage.say(
        "4. Taken over, nothing lost",
        "What the dead worker had completed stays completed. What it was in the middle of "
        "is recorded as recovered, and a new attempt runs elsewhere.",
    )
    return kill


def _be_killed_twice(stage: Stage) -> list[Kill]:
    stage.start_worker("C")
    stage.play(lambda now: "C" in now.leases, at_least=1.5)
    stage.say(
        f"5. {_ROWS:,} rows in one step",
        "A supplier's catalogue is imported, row by row. With every 100 rows, the place in the "
        "loop is saved in the same transaction. Its worker is about to be killed, twice ...",
    )
    _deliver_catalogue(stage)
    first = _kill_importing(stage, "5. Killed once ...", rows=_ROWS * 3 // 10)
    stage.start_worker("D")
    _take_over_import(stage, first)
    second = _kill_importing(stage, "5. ... and killed again", rows=_ROWS * 13 // 20)
    _take_over_import(stage, second)
    stage.play(_is_imported)
    return [first, second]


def _deliver_catalogue(stage: Stage) -> None:
    with Session(stage.drive.engine, expire_on_commit=False) as session:
        catalogue = Catalogue(name="frames")
        session.add(catalogue)
        session.commit()
        for first in range(1, _ROWS, _DELIVERED_AT_ONCE):
            numbers = range(first, first + _DELIVERED_AT_ONCE)
            rows = [{"catalogue_id": catalogue.id, "name": f"frame {n}"} for n in numbers]
            session.bulk_insert_mappings(inspect(CatalogueRow), rows)
            # Nobody else can write meanwhile, and workers that are not heard are taken for dead.
            session.commit()
    Import.using(stage.drive).create(catalogue)


def _kill_importing(stage: Stage, title: str, *, rows: int) -> Kill:
    """Kill the worker that imports, once it has come so far."""
    snapshot = stage.play(lambda now: _imported(now) >= rows and _is_importing(now))
    assert snapshot.loop is not None, "it has come this far"
    kill = stage.kill_worker(snapshot.label_of(snapshot.loop))
    stage.say(
        title,
        f"The import stands still behind row {_imported(stage.look()):,}. Once the lease has run "
        "out, another worker takes over.",
    )
    return kill


def _take_over_import(stage: Stage, kill: Kill) -> None:
    snapshot = stage.play(lambda now: now.has_recovered(kill) and _is_importing(now))
    assert snapshot.loop is not None, "somebody took it over"
    stage.say(
        f"5. Worker {snapshot.label_of(snapshot.loop)} goes on, and does not start over",
        "What was not saved was not committed, and what was committed is not done again: no row "
        "is lost, and none is imported twice. The count at the end will tell.",
    )


def _imported(now: Snapshot) -> int:
    return now.loop.completed_iterations if now.loop else 0


def _is_imported(now: Snapshot) -> bool:
    return now.loop is not None and now.loop.state is gd.StepState.COMPLETED


def _is_importing(now: Snapshot) -> bool:
    return now.loop is not None and now.loop.state is gd.StepState.IN_PROGRESS


def _end(stage: Stage) -> None:
    stage.play(_all_ended, at_least=1)
    stage.say("The end", "Every workflow has ended.")
    stage.play(_all_ended, at_least=1)


def _order(stage: Stage, kind: type[Checkout], name: str, *, postcode: str | None) -> None:
    with Session(stage.drive.engine) as session, session.begin():
        order = Order(name=name, cents=1995, postcode=postcode)
        session.add(order)
        kind.using(stage.drive).create(order, session=session)


def _all_passed(now: Snapshot, type_name: str, step_name: str) -> bool:
    passed = (gd.StepState.COMPLETED, gd.StepState.SKIPPED)
    return all(
        any(e.state in passed for e in workflow.attempts_at(step_name))
        for workflow in now.of_type(type_name)
    )


def _refusals(now: Snapshot) -> int:
    """Count how often the order was refused that was refused least often."""
    refused = gd.Outcome.REATTEMPTED_BY_EXCEPTION
    return min(workflow.count(refused) for workflow in now.of_type("Checkout"))


def _paused(now: Snapshot) -> bool:
    return any(workflow.state is gd.WorkflowState.PAUSED for workflow in now.workflows)


def _rendering(now: Snapshot, at_least: timedelta) -> list[str]:
    """Name the workers that have been rendering so long, once for each photo book."""
    return [
        now.label_of(e)
        for e in now.running
        if e.step_name == "render_pages" and now.at - (e.started_at or now.at) >= at_least
    ]


def _all_ended(now: Snapshot) -> bool:
    return all(workflow.has_ended for workflow in now.workflows)
