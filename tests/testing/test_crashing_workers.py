"""Crashing a worker with threads of its own at a chosen point."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidInput
from geneva_drive.testing import assert_cursor, crash_after, drain, expire_leases
from tests.looking import history
from tests.worker.watching import TIME_LIMIT, wait, wait_until

QUICK = {"lease": "1s", "heartbeat_interval": "0.1s", "poll_interval": "0.05s"}


class Delivery(gd.Workflow[Any]):
    type_name = "test_crashing_workers.Delivery"
    runs: list[tuple[str, int]]

    @gd.step
    def pack(self) -> None:
        self.runs.append(("pack", self.attempt))

    @gd.step
    def ship(self) -> None:
        self.runs.append(("ship", self.attempt))


class Parcel(gd.Workflow[Any]):
    type_name = "test_crashing_workers.Parcel"

    @gd.step(wait=3600)
    def rest(self) -> None: ...


PACKING = ("pack", "in_progress", None)
PACKED = ("pack", "completed", "success")
SHIPPING = ("ship", "in_progress", None)  # claimed with the commit of the step before it


@pytest.mark.parametrize(
    ("point", "runs", "left", "runs_after"),
    [
        ("claim", [], [PACKING], [("pack", 2), ("ship", 1)]),
        ("body", [("pack", 1)], [PACKING], [("pack", 1), ("pack", 2), ("ship", 1)]),
        ("commit", [("pack", 1)], [PACKED, SHIPPING], [("pack", 1), ("ship", 2)]),
    ],
    ids=["claim", "body", "commit"],
)
def test_a_dead_worker_keeps_its_claim_until_its_lease_is_over(
    geneva: gd.Drive, point: Any, runs: list[Any], left: list[Any], runs_after: list[Any]
) -> None:
    Delivery.runs = []
    with geneva.worker(concurrency=2), crash_after(point):
        workflow = Delivery.create()

    assert (Delivery.runs, history(workflow)) == (runs, left)
    assert [worker.is_alive for worker in geneva.workers] == [True]
    assert drain(geneva) == 0

    expire_leases(geneva)
    drain(geneva)
    assert Delivery.runs == runs_after
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize(("point", "kept", "runs"), [("body", 0, [1, 2]), ("commit", 1, [1])])
def test_a_step_in_a_transaction_keeps_its_writes_only_if_they_were_committed(
    geneva: gd.Drive, point: Any, kept: int, runs: list[int]
) -> None:
    bodies: list[int] = []

    class Sorting(gd.Workflow):
        @gd.step(transaction=True)
        def sort(self, session: Any) -> None:
            bodies.append(self.attempt)
            Parcel.create(session=session)

    with geneva.worker(concurrency=1), crash_after(point):
        Sorting.create()

    assert Parcel.ongoing().count() == kept
    expire_leases(geneva)
    drain(geneva)
    assert (Parcel.ongoing().count(), bodies) == (1, runs)


@pytest.mark.parametrize("transaction", [False, True], ids=["plain", "transaction"])
def test_a_loop_that_crashes_after_a_checkpoint_goes_on_from_there(
    geneva: gd.Drive, transaction: bool
) -> None:
    done: list[str] = []

    class Letters(gd.Workflow):
        @gd.resumable_step(checkpoint_every=2, transaction=transaction)
        def write(self, it: gd.IterableStep, session: Any = None) -> None:
            for letter in it.iterate_over(list("abcde")):
                done.append(letter)  # noqa: PERF402 - one at a time, to crash between them

    with geneva.worker(concurrency=1), crash_after("checkpoint"):
        workflow = Letters.create()

    assert_cursor(workflow, 2)
    expire_leases(geneva)
    drain(geneva)
    assert done == ["a", "b", "c", "d", "e"]
    assert history(workflow) == [
        ("write", "failed", "recovered"),
        ("write", "completed", "success"),
    ]


def test_an_async_loop_crashes_after_an_item_too(geneva: gd.Drive) -> None:
    done: list[str] = []

    class Letters(gd.Workflow):
        @gd.resumable_step
        async def write(self, it: gd.AsyncIterableStep) -> None:
            async for letter in it.iterate_over(list("abc")):
                done.append(letter)  # noqa: PERF401 - one at a time, to crash between them

    with geneva.worker(concurrency=1), crash_after(items=2):
        workflow = Letters.create()

    assert_cursor(workflow, 1)
    expire_leases(geneva)
    drain(geneva)
    assert done == ["a", "b", "b", "c"]


def test_another_worker_recovers_what_the_dead_one_held(
    geneva: gd.Drive, geneva_database_url: str
) -> None:
    Delivery.runs = []
    with (
        closing(gd.Drive(geneva_database_url, **QUICK)) as drive,
        drive.worker(concurrency=1),
        drive.worker(concurrency=1),
    ):
        with crash_after("body"):
            workflow = Delivery.create()
        wait_until(lambda: workflow.reload().state == "finished", "the other worker ends it")

    assert Delivery.runs == [("pack", 1), ("pack", 2), ("ship", 1)]
    assert history(workflow) == [
        ("pack", "failed", "recovered"),
        ("pack", "completed", "success"),
        ("ship", "completed", "success"),
    ]


def test_the_outcome_of_a_body_that_runs_on_in_a_dead_worker_is_dropped(geneva: gd.Drive) -> None:
    begun, release = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    class Slow(gd.Workflow):
        @gd.step
        def work(self) -> None:
            threads.append(threading.current_thread())
            begun.set()
            wait(release)

    Delivery.runs = []
    with geneva.worker(concurrency=2):
        slow = Slow.create()
        wait(begun)
        with crash_after("body"):
            Delivery.create()
    release.set()
    threads[0].join(TIME_LIMIT)

    assert not threads[0].is_alive()
    assert history(slow) == [("work", "in_progress", None)]


def test_a_worker_that_runs_until_idle_ends_with_its_crash(geneva: gd.Drive) -> None:
    Delivery.runs = []
    workflow = Delivery.create()
    with crash_after("claim"):
        geneva.worker(concurrency=1).run_until_idle()

    assert history(workflow) == [PACKING]


def test_a_worker_that_crashes_while_it_drains_does_not_wait_for_its_claims(
    geneva: gd.Drive,
) -> None:
    begun, release = threading.Event(), threading.Event()

    class Slow(gd.Workflow):
        @gd.step
        def work(self) -> None:
            begun.set()
            wait(release)

    workflow = Slow.create()
    with crash_after("body"):
        worker = geneva.worker(concurrency=1)
        worker.start()
        wait(begun)
        threading.Timer(0.05, release.set).start()
        worker.stop()

    assert history(workflow) == [("work", "in_progress", None)]


def test_a_point_that_no_worker_reaches_in_time_is_an_assertion_error(geneva: gd.Drive) -> None:
    with (
        geneva.worker(concurrency=1),
        pytest.raises(AssertionError) as failure,
        crash_after("body", timeout="50ms"),
    ):
        pass

    assert str(failure.value) == "No execution reached the point 'body'."


def test_an_unknown_point_is_refused() -> None:
    with pytest.raises(InvalidInput) as refusal, crash_after("lunch"):  # type: ignore[arg-type]
        pass

    assert str(refusal.value) == (
        "crash_after(point) must be 'claim', 'body', 'commit', 'checkpoint', 'item', 'redispatch', "
        "'fire', 'fired', 'stored' or 'opened', got 'lunch'."
    )
