"""A worker dies around a request or its decision: nothing is lost, asked or recorded twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.engine.crash_points import Point
from geneva_drive.testing import crash_after, drain, expire_leases
from tests.approval_ledger import assert_consistent
from tests.approving import Decision, asked, reach, requests_of

Calls = list[tuple[str, str | None]]


@pytest.fixture
def calls() -> Calls:
    """The bodies that were called, each with who decided."""
    return []


@pytest.fixture
def refund(geneva: gd.Drive, calls: Calls) -> type[gd.Workflow[Any]]:
    class Refund(gd.Workflow[Any]):
        @gd.approval(role="clerk")
        def clerk(self, decision: Decision) -> None:
            calls.append(("clerk", decision.by))

        @gd.step
        def pay(self) -> None:
            calls.append(("pay", self.result_of(Refund.clerk).by))

    return Refund


def _attempts(workflow: gd.WorkflowHandle[Any], step_name: str) -> list[tuple[str, str | None]]:
    found = [one for one in workflow.step_executions if one.step_name == step_name]
    return [(one.state, one.outcome) for one in found]


def _crash(drive: gd.Drive, point: Point) -> None:
    with crash_after(point):
        drain(drive)
    expire_leases(drive)
    assert_consistent(drive)


@pytest.mark.parametrize("point", ["claim", "body"], ids=["before", "in its transaction"])
def test_a_worker_that_dies_before_it_has_asked_leaves_no_request_and_another_asks_once(
    geneva: gd.Drive, refund: type[gd.Workflow[Any]], point: Point
) -> None:
    workflow = refund.create()
    _crash(geneva, point)
    assert requests_of(workflow) == []

    drain(geneva)

    assert requests_of(workflow) == [("clerk", "pending")]
    assert _attempts(workflow, "clerk") == [("failed", "recovered"), ("waiting", None)]
    assert_consistent(geneva)


def test_a_worker_that_dies_after_it_has_asked_changes_nothing(
    geneva: gd.Drive, refund: type[gd.Workflow[Any]]
) -> None:
    workflow = refund.create()
    _crash(geneva, "commit")

    drain(geneva)

    assert requests_of(workflow) == [("clerk", "pending")]
    assert _attempts(workflow, "clerk") == [("waiting", None)]


@pytest.mark.parametrize(
    ("point", "called", "attempts"),
    [
        ("claim", 1, [("failed", "recovered"), ("completed", "approved")]),
        ("body", 2, [("failed", "recovered"), ("completed", "approved")]),
        ("commit", 1, [("completed", "approved")]),
    ],
)
def test_a_worker_that_dies_after_the_decision_keeps_it_for_the_next_attempt(
    geneva: gd.Drive,
    refund: type[gd.Workflow[Any]],
    calls: Calls,
    point: Point,
    called: int,
    attempts: list[tuple[str, str]],
) -> None:
    workflow = reach(geneva, refund)
    asked(geneva).approve(by="ann")
    _crash(geneva, point)

    drain(geneva)

    assert calls == [("clerk", "ann")] * called + [("pay", "ann")]
    assert _attempts(workflow, "clerk") == attempts
    assert requests_of(workflow) == [("clerk", "approved")]
    assert workflow.reload().state == "finished"
    assert_consistent(geneva)


def test_a_decision_survives_several_deaths_in_a_row(
    geneva: gd.Drive, refund: type[gd.Workflow[Any]], calls: Calls
) -> None:
    workflow = reach(geneva, refund)
    asked(geneva).approve(by="ann")

    points: tuple[Point, ...] = ("claim", "body", "body")
    for point in points:
        _crash(geneva, point)
    drain(geneva)

    assert calls == [("clerk", "ann")] * 3 + [("pay", "ann")]
    assert [one for one in _attempts(workflow, "clerk") if one[0] == "completed"] == [
        ("completed", "approved")
    ]
    assert requests_of(workflow) == [("clerk", "approved")]


def test_a_worker_that_ran_out_of_recoveries_leaves_the_decision_to_the_operator(
    geneva: gd.Drive, refund: type[gd.Workflow[Any]], calls: Calls
) -> None:
    workflow = reach(geneva, refund)
    asked(geneva).approve(by="ann")
    for _ in range(geneva.settings.max_recoveries + 1):
        _crash(geneva, "claim")
    drain(geneva)
    assert (workflow.reload().state, workflow.needs) == ("paused", "operator")

    workflow.resume()
    drain(geneva)

    assert calls == [("clerk", "ann"), ("pay", "ann")]
    assert requests_of(workflow) == [("clerk", "approved")]
    assert_consistent(geneva)


def test_a_request_that_is_decided_while_a_dead_worker_held_a_node_beside_it_is_kept(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow[Any]):
        @gd.step
        def prepare(self) -> None: ...

        @gd.approval(role="lawyer", depends_on=prepare)
        def lawyer(self, decision: Decision) -> None: ...

        @gd.task(depends_on=prepare)
        def pack(self) -> None: ...

    order = Order.create()
    with crash_after("claim", items=3):  # of `pack`
        drain(geneva)
    assert _attempts(order, "pack") == [("in_progress", None)]
    drain(geneva)
    order.pause()  # is requested: the dead worker still has its lease
    asked(geneva).approve(by="ann")
    assert_consistent(geneva)

    expire_leases(geneva)
    drain(geneva)
    assert order.reload().state == "paused"
    assert_consistent(geneva)
    order.resume()
    drain(geneva)

    assert requests_of(order) == [("lawyer", "approved")]
    assert order.reload().state == "finished"
    assert_consistent(geneva)


def test_a_worker_that_lost_its_claim_while_it_prepared_a_request_does_not_ask(
    geneva: gd.Drive,
) -> None:
    class Refund(gd.Workflow[Any]):
        def question(self) -> str:
            if self.attempt == 1:
                _let_another_take_over(geneva)
            return f"attempt {self.attempt}"

        @gd.approval(role="clerk", ask=question)
        def clerk(self, decision: Decision) -> None: ...

    workflow = reach(geneva, Refund)

    assert asked(geneva).title == "attempt 2"
    assert requests_of(workflow) == [("clerk", "pending")]
    assert _attempts(workflow, "clerk") == [("failed", "recovered"), ("waiting", None)]
    assert_consistent(geneva)


def test_a_worker_that_lost_its_claim_in_the_body_of_a_decision_records_nothing(
    geneva: gd.Drive, calls: Calls
) -> None:
    class Refund(gd.Workflow[Any]):
        @gd.approval(role="clerk", on_reject="continue")
        def clerk(self, decision: Decision) -> None:
            calls.append((f"attempt {self.attempt}", decision.by))
            if self.attempt == 1:
                _let_another_take_over(geneva)

        @gd.step
        def pay(self) -> None:
            calls.append(("pay", None))

    workflow = reach(geneva, Refund)
    asked(geneva).reject(by="ann")
    drain(geneva)

    assert calls == [("attempt 1", "ann"), ("attempt 2", "ann"), ("pay", None)]
    assert _attempts(workflow, "clerk") == [("failed", "recovered"), ("completed", "rejected")]
    assert workflow.reload().state == "finished"
    assert_consistent(geneva)


def _let_another_take_over(drive: gd.Drive) -> None:
    """Let another worker recover what the calling one runs, and run it to its end."""
    expire_leases(drive)
    with ThreadPoolExecutor(1) as another:
        another.submit(drain, drive).result()
