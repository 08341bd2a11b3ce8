"""Chains of steps one of which is another workflow: commands treat them as any chain."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, speedrun
from tests.deploys import former_code
from tests.looking import history

Handle = gd.WorkflowHandle[Any]

ran: list[str] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


class Ship(gd.Workflow):
    type_name = "ChainedShip"

    @gd.step(wait=3600)
    def pack(self) -> None: ...


class Order(gd.Workflow):
    type_name = "ChainOfAChild"

    @gd.step
    def charge(self) -> None:
        ran.append("charge")

    ship = gd.child(Ship)

    @gd.step
    def bill(self) -> None:
        ran.append("bill")

    @gd.step
    def close(self) -> None:
        ran.append("close")


def _waiting() -> tuple[Handle, Handle]:
    parent = Order.create()
    drain()
    [child] = Ship.ongoing().all()
    return parent.reload(), child


@pytest.mark.parametrize("is_paused", [False, True], ids=["ready", "paused"])
def test_resume_at_a_step_behind_the_child_cancels_the_child(
    geneva: gd.Drive, is_paused: bool
) -> None:
    parent, child = _waiting()
    parent = parent.pause() if is_paused else parent

    parent.resume_at("close")
    drain()

    assert (parent.reload().state, child.reload().state) == ("finished", "canceled")
    assert ran == ["charge", "close"]
    assert history(parent) == [
        ("charge", "completed", "success"),
        ("ship", "canceled", "canceled_by_operator"),
        ("close", "completed", "success"),
    ]


def test_resume_at_goes_back_behind_a_child_that_has_finished(geneva: gd.Drive) -> None:
    parent, child = _waiting()
    parent.pause()
    speedrun(child)

    parent.reload().resume_at(Order.charge)
    drain()

    assert ran == ["charge", "charge"]
    assert parent.reload().next_step_name == "ship"
    assert [e.attempt_number for e in parent.step_executions] == [1, 1, 2, 2]
    assert Ship.ongoing().count() == 1
    assert child.reload().state == "finished"


def test_resume_at_the_child_starts_another_one(geneva: gd.Drive) -> None:
    parent, child = _waiting()

    parent.resume_at(Order.ship)
    drain()

    assert child.reload().state == "canceled"
    [another] = Ship.ongoing().all()
    speedrun(another)
    drain()
    assert parent.reload().state == "finished"
    assert ran == ["charge", "bill", "close"]


def test_skip_passes_over_the_child_that_a_chain_waits_for(geneva: gd.Drive) -> None:
    parent, child = _waiting()

    parent.skip()
    drain()

    assert (parent.reload().state, child.reload().state) == ("finished", "canceled")
    assert history(parent)[1] == ("ship", "skipped", "skipped_by_operator")


def test_a_child_that_ends_while_its_chain_is_paused_counts_after_resume(
    geneva: gd.Drive,
) -> None:
    parent, child = _waiting()
    parent.pause()

    speedrun(child)
    drain()
    assert (parent.reload().state, ran) == ("paused", ["charge"])
    parent.resume()
    drain()

    assert parent.reload().state == "finished"
    assert ran == ["charge", "bill", "close"]


def test_a_chain_that_waits_for_a_child_may_become_a_graph(geneva: gd.Drive) -> None:
    with former_code():

        class Former(gd.Workflow):
            type_name = "GrowingOrder"
            ship = gd.child(Ship)

            @gd.step
            def close(self) -> None:
                ran.append("close")

        Former.create()
        drain()
    [child] = Ship.ongoing().all()

    class Grown(gd.Workflow):
        type_name = "GrowingOrder"
        ship = gd.child(Ship)

        @gd.task(depends_on=ship)
        def audit(self) -> None:
            ran.append("audit")

        @gd.step
        def close(self) -> None:
            ran.append("close")

    speedrun(child)
    drain()

    assert Grown.finished().count() == 1
    assert sorted(ran) == ["audit", "close"]
