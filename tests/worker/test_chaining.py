"""The next step is taken in the same breath, where nobody is wronged by that."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.worker.performer import MAX_CHAIN_LENGTH
from tests.worker.watching import TIME_LIMIT, Watch, rows_of, wait, wait_until_draining

pytestmark = pytest.mark.usefixtures("chains_as_long_as_they_like")


def _was_claimed_apart(watch: Watch) -> list[str]:
    """Name the executions that were scheduled first and claimed later."""
    return [e.step_name for e in watch.steps("in_progress") if e.from_state == "scheduled"]


def test_the_next_step_is_inserted_already_claimed(geneva: gd.Drive, watch: Watch) -> None:
    class Order(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step
        def charge(self) -> None: ...

        @gd.step
        def ship(self) -> None: ...

    order = Order.create()

    geneva.worker().run_until_idle()

    assert _was_claimed_apart(watch) == ["reserve"]
    first, second, third = order.step_executions
    assert (second.started_at, third.started_at) == (first.finished_at, second.finished_at)
    assert len({first.worker_id, second.worker_id, third.worker_id}) == 1


def test_a_step_with_a_transaction_takes_the_next_one_along(geneva: gd.Drive, watch: Watch) -> None:
    class Order(gd.Workflow):
        @gd.step(transaction=True)
        def reserve(self, session: Any) -> None: ...

        @gd.step(transaction=True)
        def ship(self, session: Any) -> None: ...

    order = Order.create()

    geneva.worker().run_until_idle()

    assert _was_claimed_apart(watch) == ["reserve"]
    assert order.reload().state == "finished"


def test_a_step_that_has_to_wait_is_not_taken_along(geneva: gd.Drive, watch: Watch) -> None:
    class Order(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step(wait=60)
        def remind(self) -> None: ...

    order = Order.create()

    geneva.worker().run_until_idle()

    assert rows_of(order) == [("reserve", "completed", "success"), ("remind", "scheduled", None)]


def test_a_step_of_a_queue_that_is_not_served_is_left_to_others(
    geneva: gd.Drive, watch: Watch
) -> None:
    class Order(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step(queue="print")
        def print_label(self) -> None: ...

    order = Order.create()

    geneva.worker(queues=["default"]).run_until_idle()
    assert rows_of(order) == [
        ("reserve", "completed", "success"),
        ("print_label", "scheduled", None),
    ]

    geneva.worker(queues=["print"]).run_until_idle()
    assert order.reload().state == "finished"


def test_what_is_more_urgent_goes_before_the_next_step(geneva: gd.Drive) -> None:
    ran: list[str] = []

    class Alarm(gd.Workflow):
        priority = 10

        @gd.step
        def ring(self) -> None:
            ran.append("ring")

    class Chore(gd.Workflow):
        @gd.step
        def sweep(self) -> None:
            ran.append("sweep")
            Alarm.create()

        @gd.step
        def mop(self) -> None:
            ran.append("mop")

    Chore.create()

    geneva.worker(concurrency=1).run_until_idle()

    assert ran == ["sweep", "ring", "mop"]


def test_urgent_work_of_a_queue_that_is_not_served_does_not_break_the_chain(
    geneva: gd.Drive, watch: Watch
) -> None:
    class Alarm(gd.Workflow):
        priority = 10
        queue = "alarms"

        @gd.step
        def ring(self) -> None: ...

    class Chore(gd.Workflow):
        @gd.step
        def sweep(self) -> None: ...

        @gd.step
        def mop(self) -> None: ...

    Alarm.create()
    chore = Chore.create()

    geneva.worker(queues=["default"]).run_until_idle()

    assert _was_claimed_apart(watch) == ["sweep"]
    assert chore.reload().state == "finished"


def test_a_long_chain_goes_back_to_the_queue_now_and_then(geneva: gd.Drive, watch: Watch) -> None:
    ran: list[str] = []

    class Loop(gd.Workflow):
        @gd.step
        def turn(self) -> None:
            ran.append("turn")
            if ran.count("turn") <= MAX_CHAIN_LENGTH + 1:
                self.reattempt()

    class Patient(gd.Workflow):
        @gd.step
        def wait_for_its_turn(self) -> None:
            ran.append("patient")

    Loop.create()
    Patient.create()

    geneva.worker(concurrency=1).run_until_idle()

    assert "patient" in ran[:102]
    assert ran[-1] == "turn"
    assert _was_claimed_apart(watch).count("turn") > 1


def test_a_chain_of_slow_steps_goes_back_to_the_queue_after_a_while(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    monkeypatch.setattr("geneva_drive.worker.performer.MAX_CHAIN_SECONDS", 0.0)

    class Slow(gd.Workflow):
        @gd.step
        def first(self) -> None:
            ran.append("first")
            Patient.create()

        @gd.step
        def second(self) -> None:
            ran.append("second")

    class Patient(gd.Workflow):
        @gd.step
        def wait_for_its_turn(self) -> None:
            ran.append("patient")

    Slow.create()

    geneva.worker(concurrency=1).run_until_idle()

    assert ran == ["first", "patient", "second"]


def test_a_worker_that_stops_takes_no_step_along(geneva: gd.Drive) -> None:
    begun, release = threading.Event(), threading.Event()

    class Order(gd.Workflow):
        @gd.step
        def reserve(self) -> None:
            begun.set()
            wait(release)

        @gd.step
        def ship(self) -> None: ...

    order = Order.create()
    worker = geneva.worker()
    worker.start()
    wait(begun)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    wait_until_draining()
    release.set()
    stopping.join(TIME_LIMIT)

    assert rows_of(order) == [("reserve", "completed", "success"), ("ship", "scheduled", None)]


# SQLite's one writer is this body itself: the worker cannot even stop claiming.
@pytest.mark.databases("postgresql", "mysql")
def test_a_worker_that_stops_takes_no_step_along_from_a_transaction(geneva: gd.Drive) -> None:
    begun, release = threading.Event(), threading.Event()

    class Order(gd.Workflow):
        @gd.step(transaction=True)
        def reserve(self, session: Any) -> None:
            begun.set()
            wait(release)

        @gd.step
        def ship(self) -> None: ...

    order = Order.create()
    worker = geneva.worker()
    worker.start()
    wait(begun)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    wait_until_draining()
    release.set()
    stopping.join(TIME_LIMIT)

    assert rows_of(order) == [("reserve", "completed", "success"), ("ship", "scheduled", None)]
