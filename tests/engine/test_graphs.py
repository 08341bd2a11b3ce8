"""Nodes that run when what they depend on is done, side by side where they may."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_next_step, speedrun
from tests.looking import history, waits
from tests.worker.watching import TIME_LIMIT, wait_until


@pytest.fixture
def beside(geneva: gd.Drive, geneva_database_url: str) -> Iterator[gd.Drive]:
    """A Drive on the same database, as another process would have it."""
    drive = gd.Drive(geneva_database_url)
    yield drive
    drive.close()


def _names(workflow: gd.WorkflowHandle[Any]) -> list[str]:
    return [e.step_name for e in workflow.step_executions]


def test_a_node_runs_once_what_it_depends_on_is_done(geneva: gd.Drive) -> None:
    class Diamond(gd.Workflow):
        @gd.task
        def a(self) -> None: ...

        @gd.task(depends_on=a)
        def b(self) -> None: ...

        @gd.task(depends_on=a)
        def c(self) -> None: ...

        @gd.task(depends_on=[b, c])
        def d(self) -> None: ...

    workflow = Diamond.create()
    assert _names(workflow) == ["a"]

    perform_next_step(workflow)
    assert _names(workflow) == ["a", "b", "c"]
    perform_next_step(workflow)
    assert _names(workflow) == ["a", "b", "c"]
    perform_next_step(workflow)
    assert _names(workflow) == ["a", "b", "c", "d"]
    perform_next_step(workflow)

    assert workflow.reload().state == "finished"
    assert history(workflow) == [(name, "completed", "success") for name in "abcd"]


def test_several_entry_points_are_scheduled_by_create(geneva: gd.Drive) -> None:
    class Checks(gd.Workflow):
        @gd.task
        def stock(self) -> None: ...

        @gd.task
        def fraud(self) -> None: ...

    workflow = Checks.create()

    assert [(e.step_name, e.state) for e in workflow.current_executions] == [
        ("stock", "scheduled"),
        ("fraud", "scheduled"),
    ]
    drain()
    assert workflow.reload().state == "finished"


class OrderWorkflow(gd.Workflow):
    """The one of the seed's "Interaction Rules"."""

    type_name = "SeedOrder"
    ran: list[str] = []  # noqa: RUF012 - shared by its executions

    @gd.step
    def validate(self) -> None:
        self.ran.append("validate")

    @gd.step
    def enrich_data(self) -> None:
        self.ran.append("enrich_data")

    @gd.task(depends_on="validate")
    def check_inventory(self) -> None:
        self.ran.append("check_inventory")

    @gd.task(depends_on="validate")
    def check_fraud(self) -> None:
        self.ran.append("check_fraud")

    @gd.step(depends_on=[check_inventory, check_fraud])
    def ready_to_charge(self) -> None:
        self.ran.append("ready_to_charge")

    @gd.step
    def charge_card(self) -> None:
        self.ran.append("charge_card")

    @gd.task(depends_on="charge_card")
    def send_receipt(self) -> None:
        self.ran.append("send_receipt")

    @gd.task(depends_on="charge_card")
    def update_analytics(self) -> None:
        self.ran.append("update_analytics")

    @gd.step(depends_on=[charge_card, send_receipt, update_analytics])
    def complete(self) -> None:
        self.ran.append("complete")


def test_the_order_of_steps_and_tasks_mixed_is_that_of_their_edges(geneva: gd.Drive) -> None:
    OrderWorkflow.ran.clear()
    workflow = OrderWorkflow.create()

    with geneva.worker(concurrency=4):
        wait_until(lambda: workflow.reload().state == "finished", "the order is complete")

    ran = OrderWorkflow.ran
    assert sorted(ran) == sorted(OrderWorkflow.compiled_dag()["nodes"])
    assert ran[0] == "validate"
    assert max(map(ran.index, ("check_inventory", "check_fraud"))) < ran.index("ready_to_charge")
    assert ran.index("ready_to_charge") < ran.index("charge_card")
    assert ran.index("charge_card") < min(map(ran.index, ("send_receipt", "update_analytics")))
    assert max(map(ran.index, ("send_receipt", "update_analytics"))) < ran.index("complete")
    assert workflow.verify_ancestry() == []


def test_independent_nodes_run_at_the_same_time_on_one_worker(geneva: gd.Drive) -> None:
    both_inside = threading.Barrier(2, timeout=TIME_LIMIT)

    class Checks(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def stock(self) -> None:
            both_inside.wait()

        @gd.task(depends_on=validate)
        def fraud(self) -> None:
            both_inside.wait()

    workflow = Checks.create()

    with geneva.worker(concurrency=2):
        wait_until(lambda: workflow.reload().state == "finished", "both nodes have met")

    assert not both_inside.broken
    assert [e.state for e in workflow.step_executions] == ["completed"] * 3


def test_a_join_runs_once_though_two_workers_end_its_parents_at_the_same_moment(
    geneva: gd.Drive, beside: gd.Drive
) -> None:
    at_once = threading.Barrier(2, timeout=TIME_LIMIT)
    joined: list[int] = []

    class Diamond(gd.Workflow):
        @gd.task(queue="left")
        def left(self) -> None:
            at_once.wait()

        @gd.task(queue="right")
        def right(self) -> None:
            at_once.wait()

        @gd.task(depends_on=[left, right], queue="left")
        def join(self) -> None:
            joined.append(self.id)

    workflows = [Diamond.create() for _ in range(5)]

    with geneva.worker(["left"], 1), beside.worker(["right"], 1):
        wait_until(lambda: Diamond.finished().count() == 5, "every join has run")

    assert sorted(joined) == [workflow.id for workflow in workflows]
    assert [_names(workflow) for workflow in workflows] == [["left", "right", "join"]] * 5
    assert [workflow.verify_ancestry() for workflow in workflows] == [[]] * 5


def test_a_join_of_a_stored_graph_runs_once_though_two_workers_end_its_parents_at_once(
    geneva: gd.Drive, beside: gd.Drive
) -> None:
    at_once = threading.Barrier(2, timeout=TIME_LIMIT)
    joined: list[int] = []

    @gd.job(name="test_graphs.left", queue="left")
    def left() -> None:
        at_once.wait()

    @gd.job(name="test_graphs.right", queue="right")
    def right() -> None:
        at_once.wait()

    @gd.job(name="test_graphs.join", queue="right")
    def join(*, workflow: Any) -> None:
        joined.append(workflow.id)

    def start() -> gd.WorkflowHandle[Any]:
        w = gd.DynamicWorkflow()
        w.node("left", job=left)
        w.node("right", job=right, depends_on=None)
        w.node("join", job=join, depends_on=["left", "right"])
        return w.start()

    workflows = [start() for _ in range(5)]

    with geneva.worker(["left"], 1), beside.worker(["right"], 1):
        wait_until(
            lambda: all(one.reload().state == "finished" for one in workflows), "all joins ran"
        )

    assert sorted(joined) == [workflow.id for workflow in workflows]
    assert [_names(workflow) for workflow in workflows] == [["left", "right", "join"]] * 5
    assert [workflow.verify_ancestry() for workflow in workflows] == [[]] * 5


def test_a_task_waits_from_the_end_of_the_last_of_its_parents(
    geneva: gd.Drive, geneva_clock: Any
) -> None:
    class Reminder(gd.Workflow):
        @gd.task
        def first(self) -> None: ...

        @gd.task(wait=timedelta(hours=1))
        def second(self) -> None: ...

        @gd.task(depends_on=[first, second], wait=timedelta(days=2))
        def remind(self) -> None: ...

    workflow = Reminder.create()
    drain()
    assert history(workflow) == [
        ("first", "completed", "success"),
        ("second", "scheduled", None),
    ]

    geneva_clock.advance(timedelta(hours=1))
    drain()

    assert history(workflow)[2:] == [("remind", "scheduled", None)]
    assert waits(workflow)[1:] == [timedelta(days=2)]
    geneva_clock.advance(timedelta(days=2))
    drain()
    assert workflow.reload().state == "finished"


def test_a_parent_that_was_skipped_satisfies_its_dependants(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.task(skip_if=True)
        def by_condition(self) -> None: ...

        @gd.task
        def by_itself(self) -> None:
            self.skip()

        @gd.task(on_exception="skip")
        def by_exception(self) -> None:
            raise ValueError("no such order")

        @gd.task(depends_on=[by_condition, by_itself, by_exception])
        def ship(self) -> None: ...

    workflow = Order.create()

    drain()

    assert workflow.reload().state == "finished"
    assert history(workflow) == [
        ("by_condition", "skipped", "skipped_by_condition"),
        ("by_itself", "skipped", "skipped_by_flow_control"),
        ("by_exception", "skipped", "skipped_by_exception"),
        ("ship", "completed", "success"),
    ]


def test_a_cancel_condition_is_asked_before_every_node(geneva: gd.Drive) -> None:
    is_canceled = False

    class Order(gd.Workflow):
        @gd.cancel_if
        def gone(self) -> bool:
            return is_canceled

        @gd.task
        def stock(self) -> None:
            nonlocal is_canceled
            is_canceled = True

        @gd.task
        def fraud(self) -> None: ...

        @gd.task(depends_on=[stock, fraud])
        def ship(self) -> None: ...

    workflow = Order.create()

    speedrun(workflow)

    assert workflow.reload().state == "canceled"
    assert history(workflow) == [
        ("stock", "completed", "success"),
        ("fraud", "canceled", "canceled_by_condition"),
    ]


def test_async_bodies_run_beside_sync_ones(geneva: gd.Drive) -> None:
    both_inside = threading.Barrier(2, timeout=TIME_LIMIT)

    class Checks(gd.Workflow):
        @gd.task
        async def stock(self) -> None:
            both_inside.wait()

        @gd.task
        def fraud(self) -> None:
            both_inside.wait()

        @gd.task(depends_on=[stock, fraud])
        async def charge(self) -> None: ...

    workflow = Checks.create()

    with geneva.worker(concurrency=3):
        wait_until(lambda: workflow.reload().state == "finished", "both nodes have met")

    assert [e.outcome for e in workflow.step_executions] == ["success"] * 3


def test_results_of_nodes_are_kept_for_those_behind_them(geneva: gd.Drive) -> None:
    seen: list[int | None] = []

    class Sum(gd.Workflow):
        @gd.task(keep_result=True)
        def two(self) -> int:
            return 2

        @gd.task(keep_result=True)
        def three(self) -> int:
            return 3

        @gd.task(depends_on=[two, three])
        def add(self) -> None:
            seen.extend([self.result_of(Sum.two), self.result_of("three")])

    workflow = Sum.create()

    drain()

    assert seen == [2, 3]
    assert [e.result for e in workflow.step_executions] == [2, 3, None]


def test_queue_and_priority_of_a_node_are_its_own_or_those_of_its_class(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        queue = "orders"
        priority = 3

        @gd.task
        def stock(self) -> None: ...

        @gd.task(depends_on=stock, queue="mail", priority=9)
        def receipt(self) -> None: ...

        @gd.task(depends_on=stock)
        def ship(self) -> None: ...

    workflow = Order.create()

    drain()

    assert [(e.step_name, e.queue, e.priority) for e in workflow.step_executions] == [
        ("stock", "orders", 3),
        ("receipt", "mail", 9),
        ("ship", "orders", 3),
    ]
