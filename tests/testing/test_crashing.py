"""Letting a worker die at a chosen point, and leases run out."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, expire_leases, perform_next_step
from tests.looking import history


class Delivery(gd.Workflow[Any]):
    type_name = "test_crashing.Delivery"
    runs: list[int]

    @gd.step
    def pack(self) -> None:
        self.runs.append(self.attempt)


@pytest.mark.parametrize(
    ("point", "runs_before", "rows_before", "runs_after"),
    [
        ("claim", [], [("pack", "in_progress", None)], [2]),
        ("body", [1], [("pack", "in_progress", None)], [1, 2]),
        ("commit", [1], [("pack", "completed", "success")], [1]),
    ],
    ids=["claim", "body", "commit"],
)
def test_what_was_committed_at_the_crash_stays_and_the_rest_is_done_again(
    geneva: gd.Drive,
    point: Any,
    runs_before: list[int],
    rows_before: list[Any],
    runs_after: list[int],
) -> None:
    Delivery.runs = []
    workflow = Delivery.create()
    with crash_after(point):
        drain(geneva)

    assert (Delivery.runs, history(workflow)) == (runs_before, rows_before)
    drain(geneva)
    assert Delivery.runs == runs_after
    assert workflow.reload().state == "finished"


def test_a_crash_ends_one_performed_step_too(geneva: gd.Drive) -> None:
    Delivery.runs = []
    workflow = Delivery.create()
    with crash_after("claim"):
        perform_next_step(workflow)

    assert workflow.reload().state == "performing"


def test_a_point_that_nothing_reaches_is_an_assertion_error(geneva: gd.Drive) -> None:
    with pytest.raises(AssertionError) as failure, crash_after("body"):
        drain(geneva)

    assert str(failure.value) == "No execution reached the point 'body'."


def test_after_the_block_nothing_crashes_any_more(geneva: gd.Drive) -> None:
    Delivery.runs = []
    Delivery.create()
    with crash_after("claim"):
        drain(geneva)

    assert drain(geneva) == 1


def test_an_error_inside_the_block_is_not_hidden(geneva: gd.Drive) -> None:
    with pytest.raises(ZeroDivisionError), crash_after("claim"):
        _ = 1 / 0


def test_expired_leases_let_others_take_what_a_worker_holds(geneva: gd.Drive) -> None:
    seen: list[int] = []

    class Slow(gd.Workflow):
        @gd.step
        def work(self) -> None:
            if self.attempt == 1:
                expire_leases(geneva)
                seen.append(geneva.housekeep())

    workflow = Slow.create()
    drain(geneva)

    # The late result of the first attempt is dropped: it had lost its claim.
    assert seen == [1]
    assert history(workflow) == [("work", "failed", "recovered"), ("work", "completed", "success")]


def test_leases_of_the_default_drive_expire_unless_another_is_named(geneva: gd.Drive) -> None:
    with geneva.worker(concurrency=1):
        expire_leases()

        assert [worker.is_alive for worker in geneva.workers] == [False]


class Child(gd.Workflow[Any]):
    type_name = "test_crashing.Child"

    @gd.step(wait=3600)
    def rest(self) -> None: ...


class Parent(gd.Workflow[Any]):
    type_name = "test_crashing.Parent"
    child = gd.child(Child)


@pytest.mark.parametrize(
    ("point", "node", "children", "history_after"),
    [
        ("claim", ("child", "in_progress", None), 0, 2),
        ("body", ("child", "in_progress", None), 0, 2),
        ("commit", ("child", "waiting", None), 1, 1),
    ],
    ids=["claim", "body", "commit"],
)
def test_a_crash_where_a_child_is_started_leaves_one_child_in_the_end(
    geneva: gd.Drive, point: Any, node: Any, children: int, history_after: int
) -> None:
    parent = Parent.create()
    with crash_after(point):
        drain(geneva)

    assert history(parent) == [node]
    assert Child.ongoing().count() == children
    drain(geneva)
    assert len(history(parent)) == history_after
    assert history(parent)[-1] == ("child", "waiting", None)
    assert Child.ongoing().count() == 1


@pytest.mark.parametrize(("point", "created"), [("body", 2), ("commit", 1)])
def test_what_a_step_wrote_in_its_transaction_is_lost_with_its_outcome(
    geneva: gd.Drive, point: Any, created: int
) -> None:
    bodies: list[int] = []

    class Careful(gd.Workflow):
        @gd.step(transaction=True)
        def write(self, session: Any) -> None:
            bodies.append(self.attempt)
            Child.create(session=session)

    workflow = Careful.create()
    with crash_after(point):
        drain(geneva)
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert len(bodies) == created
    assert Child.ongoing().count() == 1
