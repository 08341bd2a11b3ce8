"""Children that cannot be started, and those whose start a crash interrupts."""

from __future__ import annotations

from typing import Any

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, expire_leases
from tests.looking import error_of, history


class Ship(gd.Workflow):
    type_name = "StartedShip"

    @gd.step(wait=3600)
    def pack(self) -> None: ...


def test_a_worker_that_dies_before_a_child_is_started_leaves_one_child_behind(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        ship = gd.child(Ship)

    parent = Order.create()
    with crash_after("claim"):
        drain()
    expire_leases(geneva)

    drain()

    assert history(parent) == [("ship", "failed", "recovered"), ("ship", "waiting", None)]
    assert Ship.ongoing().count() == 1


def test_a_hero_that_cannot_be_told_fails_the_node_through_the_policy(geneva: gd.Drive) -> None:
    def hero(self: Any) -> object:
        raise LookupError("no such order")

    class Order(gd.Workflow):
        ship = gd.child(Ship, hero=hero, on_exception="skip")

        @gd.step
        def close(self) -> None: ...

    parent = Order.create()

    drain()

    assert parent.reload().state == "finished"
    assert history(parent)[0] == ("ship", "skipped", "skipped_by_exception")
    assert error_of(parent.step_executions[0]) == ("builtins.LookupError", "no such order")
    assert Ship.ongoing().count() == 0


def test_a_child_whose_class_is_not_there_is_started_once_it_is(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.workflow("ship", "LaterShip")
    w.node("close")
    parent = w.start()
    drain()
    assert (parent.reload().state, parent.paused_step_name) == ("paused", "ship")
    assert parent.step_executions[0].error_class == "geneva_drive.errors.UnknownWorkflowClass"

    class LaterShip(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    parent.resume()
    drain()

    assert parent.reload().state == "finished"
    assert LaterShip.finished().count() == 1


def test_a_child_is_started_only_when_all_before_it_is_done(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.task
        def stock(self) -> None: ...

        @gd.task(wait=3600)
        def fraud(self) -> None: ...

        ship = gd.child(Ship, depends_on=[stock, fraud])

    parent = Order.create()

    drain()

    assert history(parent) == [("stock", "completed", "success"), ("fraud", "scheduled", None)]
    assert Ship.ongoing().count() == 0


def test_several_children_of_one_parent_are_waited_for_together(geneva: gd.Drive) -> None:
    closed: list[int] = []

    class Order(gd.Workflow):
        type_name = "StartingOrder"

        @gd.step
        def validate(self) -> None: ...

        first = gd.child(Ship, depends_on=validate)
        second = gd.child(Ship, depends_on=validate)

        @gd.step(depends_on=[first, second])
        def close(self) -> None:
            closed.append(self.id)

    parent = Order.create()
    drain()
    [one, other] = Ship.ongoing().all()

    one.skip("pack")
    drain()
    assert closed == []
    other.skip("pack")
    drain()

    assert closed == [parent.id]
    assert parent.reload().state == "finished"
