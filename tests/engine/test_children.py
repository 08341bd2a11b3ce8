"""Workflows that a node starts and waits for."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_step_inline, speedrun
from tests.looking import error_of, history

Handle = gd.WorkflowHandle[Any]

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


class Ship(gd.Workflow):
    type_name = "ChildShip"

    @gd.step
    def pack(self) -> None:
        ran.append("pack")

    @gd.step
    def send(self) -> None:
        ran.append("send")


class SlowShip(gd.Workflow):
    type_name = "ChildSlowShip"

    @gd.step(wait=3600)
    def pack(self) -> None:
        ran.append("pack")


def _order(child: type[gd.Workflow[Any]] = SlowShip, **options: Any) -> type[gd.Workflow[Any]]:
    class Order(gd.Workflow):
        type_name = "ParentOrder"

        ship = gd.child(child, **options)

        @gd.step
        def close(self) -> None:
            ran.append("close")

    return Order


def _dynamic(**options: Any) -> Handle:
    w = gd.DynamicWorkflow()
    w.workflow("ship", SlowShip, **options)
    w.node("close", job=close)
    return w.start()


@gd.job
def close() -> None:
    ran.append("close")


def _child_of(parent: Handle) -> Handle:
    [*_, node] = [e for e in parent.step_executions if e.step_name == "ship"]
    return gd.Workflow.find(node.child_id)


def _waiting(**options: Any) -> tuple[Handle, Handle]:
    """Start a parent, and bring it to where its node waits for its child."""
    parent = _order(**options).create()
    drain()
    return parent.reload(), _child_of(parent)


PARENTS = {
    "class": lambda **options: _order(**options).create(),
    "dynamic": _dynamic,
}


@pytest.mark.parametrize("kind", PARENTS)
def test_the_node_waits_until_its_child_is_finished(geneva: gd.Drive, kind: str) -> None:
    parent = PARENTS[kind]()
    drain()
    assert history(parent) == [("ship", "waiting", None)]
    child = _child_of(parent)
    assert (child.type, child.state) == ("ChildSlowShip", "ready")

    speedrun(child)
    drain()

    assert (child.reload().state, parent.reload().state) == ("finished", "finished")
    assert history(parent) == [("ship", "completed", "success"), ("close", "completed", "success")]
    assert ran == ["pack", "close"]


def test_the_child_is_given_a_hero_and_a_context_of_the_parents(geneva: gd.Drive) -> None:
    seen: list[Any] = []

    class Look(gd.Workflow):
        @gd.step
        def look(self) -> None:
            seen.append((self.hero, dict(self.context)))

    class Order(gd.Workflow):
        look = gd.child(
            Look, hero=lambda self: self.hero, context=lambda self: {"of": self.context["name"]}
        )

    parent = Order.create(hero=gd.HeroRef("Purchase", "7"), context={"name": "Ann"})

    drain()

    assert seen == [(gd.HeroRef("Purchase", "7"), {"of": "Ann"})]
    assert parent.reload().state == "finished"


def test_the_child_of_a_dynamic_workflow_has_its_own_hero_and_context(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.workflow("ship", Ship, hero=gd.HeroRef("Purchase", "7"), context={"of": "Ann"})
    parent = w.start()
    drain()

    child = _child_of(parent)

    assert (child.hero_type, child.hero_id, child.context) == ("Purchase", "7", {"of": "Ann"})
    assert parent.reload().state == "finished"


def test_a_child_without_steps_is_done_at_once(geneva: gd.Drive) -> None:
    class Nothing(gd.Workflow):
        type_name = "ChildNothing"

    parent = _order(Nothing).create()

    drain()

    assert parent.reload().state == "finished"
    assert _child_of(parent).state == "finished"
    assert history(parent)[0] == ("ship", "completed", "success")


def test_children_may_have_children(geneva: gd.Drive) -> None:
    class Middle(gd.Workflow):
        type_name = "ChildMiddle"
        ship = gd.child(Ship)

        @gd.step
        def bill(self) -> None:
            ran.append("bill")

    parent = _order(Middle).create()

    drain()

    assert ran == ["pack", "send", "bill", "close"]
    assert parent.reload().state == "finished"


def test_a_node_is_satisfied_by_a_child_that_finished_itself(geneva: gd.Drive) -> None:
    class Short(gd.Workflow):
        type_name = "ChildShort"

        @gd.step
        def stop(self) -> None:
            self.finish()

        @gd.step
        def never(self) -> None: ...

    parent = _order(Short).create()

    drain()

    assert parent.reload().state == "finished"


@pytest.mark.parametrize(
    ("action", "node", "state"),
    [
        ("pause", ("failed", "paused_by_exception"), "paused"),
        ("cancel", ("failed", "canceled_by_exception"), "canceled"),
        ("skip", ("skipped", "skipped_by_exception"), "finished"),
    ],
)
def test_a_canceled_child_fails_its_node_through_the_policy(
    geneva: gd.Drive, action: Any, node: tuple[str, str], state: str
) -> None:
    parent, child = _waiting(on_exception=action)

    child.cancel(actor="ann")
    drain()

    assert parent.reload().state == state
    assert history(parent)[0] == ("ship", *node)
    assert error_of(parent.step_executions[0]) == (
        "geneva_drive.errors.ChildCanceled",
        f"The child workflow {child.id} (ChildSlowShip) was canceled. Reattempting the node "
        f"starts another one.",
    )


def test_each_attempt_starts_a_child_of_its_own(geneva: gd.Drive) -> None:
    parent, first = _waiting(on_exception="reattempt", max_reattempts=1)
    first.cancel()
    drain()

    second = _child_of(parent)
    speedrun(second)
    drain()

    assert (first.reload().state, second.reload().state) == ("canceled", "finished")
    assert first.id != second.id
    assert parent.reload().state == "finished"
    assert history(parent)[:2] == [
        ("ship", "failed", "reattempted_by_exception"),
        ("ship", "completed", "success"),
    ]
    assert SlowShip.finished().count() + SlowShip.canceled().count() == 2


def test_resume_starts_another_child_for_a_node_that_failed(geneva: gd.Drive) -> None:
    parent, first = _waiting()
    first.cancel()
    drain()
    assert (parent.reload().state, parent.paused_step_name) == ("paused", "ship")

    parent.resume()
    drain()

    assert _child_of(parent).id != first.id
    assert SlowShip.ongoing().count() == 1


@pytest.mark.parametrize("kind", PARENTS)
def test_a_paused_child_keeps_its_node_waiting(geneva: gd.Drive, kind: str) -> None:
    parent = PARENTS[kind]()
    drain()
    child = _child_of(parent)

    child.pause(reason="ask Ann")
    drain()
    assert (parent.reload().state, history(parent)) == ("ready", [("ship", "waiting", None)])
    child.resume()
    speedrun(child)
    drain()

    assert parent.reload().state == "finished"


def test_a_child_that_fails_keeps_its_node_waiting_until_it_is_mended(geneva: gd.Drive) -> None:
    class Fragile(gd.Workflow):
        type_name = "ChildFragile"

        @gd.step
        def pack(self) -> None:
            if self.attempt == 1:
                raise ValueError("torn")

    parent = _order(Fragile).create()
    drain()
    child = _child_of(parent)
    assert (child.state, parent.reload().state) == ("paused", "ready")

    child.resume()
    drain()

    assert parent.reload().state == "finished"


@pytest.mark.parametrize("kind", PARENTS)
@pytest.mark.parametrize(
    ("detached", "state"), [(False, "canceled"), (True, "ready")], ids=["attached", "detached"]
)
def test_a_canceled_parent_cancels_its_child_unless_that_is_detached(
    geneva: gd.Drive, kind: str, detached: bool, state: str
) -> None:
    parent = PARENTS[kind](detached=detached)
    drain()
    child = _child_of(parent)

    parent.cancel(force=True)

    assert parent.state == "canceled"
    assert history(parent) == [("ship", "canceled", "canceled_by_operator")]
    assert child.reload().state == state


def test_the_cancel_of_a_child_is_audited(geneva: gd.Drive) -> None:
    parent, child = _waiting()

    parent.cancel(actor="ann")

    [entry] = child.audit_entries
    assert (entry.command, entry.actor, entry.reason) == (
        "cancel",
        "parent",
        "The node that started it no longer waits for it.",
    )


def test_a_cancel_reaches_the_children_of_children(geneva: gd.Drive) -> None:
    class Middle(gd.Workflow):
        type_name = "ChildMiddle"
        ship = gd.child(SlowShip)

    parent = _order(Middle).create()
    drain()
    middle = _child_of(parent)
    inner = _child_of(middle)

    parent.cancel()

    assert [w.reload().state for w in (parent, middle, inner)] == ["canceled"] * 3


def test_a_detached_child_that_ends_leaves_its_canceled_parent_alone(geneva: gd.Drive) -> None:
    parent, child = _waiting(detached=True)
    parent.cancel()

    speedrun(child)
    drain()

    assert (child.reload().state, parent.reload().state) == ("finished", "canceled")
    assert history(parent) == [("ship", "canceled", "canceled_by_operator")]


@pytest.mark.parametrize("verb", ["finish", "cancel"])
def test_a_sibling_that_ends_the_parent_cancels_the_child(geneva: gd.Drive, verb: str) -> None:
    class Order(gd.Workflow):
        ship = gd.child(SlowShip)

        @gd.task
        def other(self) -> None:
            getattr(self, verb)()

    parent = Order.create()
    perform_step_inline(parent, "ship")
    child = _child_of(parent)

    drain()

    assert parent.reload().state == ("finished" if verb == "finish" else "canceled")
    assert history(parent)[0] == ("ship", "canceled", "canceled_by_flow_control")
    assert child.reload().state == "canceled"


@pytest.mark.parametrize(
    ("action", "state"), [("pause", "paused"), ("skip", "finished"), ("cancel", "canceled")]
)
def test_a_child_that_is_refused_fails_its_node_through_the_policy(
    geneva: gd.Drive, action: Any, state: str
) -> None:
    hero = gd.HeroRef("Purchase", "7")
    existing = SlowShip.create(hero=hero)
    parent = _order(hero=hero, on_exception=action).create()

    drain()

    assert parent.reload().state == state
    error_class, message = error_of(parent.step_executions[0])
    assert error_class == "geneva_drive.errors.AlreadyRunning"
    assert message is not None
    assert f"already has an ongoing ChildSlowShip (workflow {existing.id})" in message
    assert existing.reload().state == "ready"
    assert SlowShip.ongoing().count() == 1


def test_a_refused_child_is_started_by_a_later_attempt(geneva: gd.Drive) -> None:
    hero = gd.HeroRef("Purchase", "7")
    existing = SlowShip.create(hero=hero)
    parent = _order(hero=hero).create()
    drain()
    speedrun(existing)

    parent.reload().resume()
    drain()

    assert _child_of(parent).id != existing.id
    assert history(parent)[-1] == ("ship", "waiting", None)
