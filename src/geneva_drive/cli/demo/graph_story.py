"""The chapter of the demo in which nodes run at the same time."""

from __future__ import annotations

from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.cli.demo.run import DemoFailed, Stage
from geneva_drive.cli.demo.snapshot import Kill, Snapshot
from geneva_drive.cli.demo.workflows import CheckedOrder, Ledger, Order, close_ledger

_MUTATIONS = 500
_CHECKS = ("check_inventory", "check_fraud", "check_credit")


def run_side_by_side(stage: Stage) -> Kill:
    """Tell of an order that is a graph, and of a graph that only its data could tell."""
    stage.say(
        "6. Checks that run at the same time",
        "An order is a graph: three checks run side by side, on whichever workers are free. One "
        "fails, and only that one is attempted again. The card is charged after all three.",
    )
    stage.start_worker("E")
    _order(stage)
    stage.play(_is_checked)
    stage.say(
        f"6. {_MUTATIONS} nodes, made at run time",
        f"A ledger of {_MUTATIONS} mutations becomes a graph: a node for each, then one that adds "
        "them up, then one that tells. Half way, a worker is about to be killed ...",
    )
    _close_books(stage)
    return _kill_half_way(stage)


def _order(stage: Stage) -> None:
    with Session(stage.drive.engine) as session, session.begin():
        order = Order(name="wine", cents=4995, postcode="9711 LM")
        session.add(order)
        CheckedOrder.using(stage.drive).create(order, context={"is_gift": True}, session=session)


def _is_checked(now: Snapshot) -> bool:
    [order] = now.of_type("CheckedOrder")
    return order.done_names().issuperset(_CHECKS) and "E" in now.leases


def _close_books(stage: Stage) -> None:
    # Squares: to lose one and to count another twice would change the sum.
    mutations = [number**2 for number in range(1, _MUTATIONS + 1)]
    with Session(stage.drive.engine) as session, session.begin():
        ledger = Ledger(name="April", expected_cents=sum(mutations))
        session.add(ledger)
        # In the same transaction as the ledger: both are there, or neither.
        close_ledger.using(stage.drive).start(hero=ledger, session=session, mutations=mutations)


def _kill_half_way(stage: Stage) -> Kill:
    kill = None
    while kill is None:
        snapshot = stage.play(_is_time_to_kill)
        if _booked(snapshot) >= _MUTATIONS:
            raise DemoFailed("The books were closed before a worker that held nodes was killed.")
        kill = _kill_booking(stage, _booking(snapshot)[0])
    stage.say(
        f"6. Killed half way, holding {len(kill.held_ids)} nodes",
        "The rest is booked meanwhile. Once the lease has run out, what the dead worker held is "
        "taken over, and nothing else; and nothing is added up before all is booked.",
    )
    stage.play(lambda now: now.has_recovered(kill))
    return kill


def _is_time_to_kill(now: Snapshot) -> bool:
    booked = _booked(now)
    return booked >= _MUTATIONS or (booked >= _MUTATIONS // 2 and bool(_booking(now)))


def _kill_booking(stage: Stage, label: str) -> Kill | None:
    """Kill a worker, unless it has just recorded the last of what it held."""
    with stage.crew.stopped(label):
        return stage.kill_worker(label) if label in _booking(stage.look()) else None


def _booked(now: Snapshot) -> int:
    return len(now.fan_out.done_names()) if now.fan_out else 0


def _booking(now: Snapshot) -> list[str]:
    """Name the workers that hold nodes of the ledger, those that hold the most first."""
    assert now.fan_out is not None, "the books are being closed"
    held = [now.label_of(e) for e in now.fan_out.executions if e.state is gd.StepState.IN_PROGRESS]
    return sorted(set(held), key=lambda label: (-held.count(label), label))
