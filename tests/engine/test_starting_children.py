"""Children that cannot be started, and those whose start a crash interrupts."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

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
    assert parent.step_executions[0].error_class == "geneva_drive.errors.DefinitionNotFound"

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


class Note(gd.Workflow):
    type_name = "StartedNote"

    @gd.step(wait=3600)
    def read(self) -> None: ...


def _write_on_another_thread() -> None:
    """Write as anybody else would: it waits for whoever holds a lock, and is not let wait long."""
    with ThreadPoolExecutor(1) as others:
        others.submit(Note.create).result(timeout=20)


@pytest.mark.parametrize("at", ["hero", "context", "before", "around"])
def test_user_code_of_a_node_that_starts_a_child_holds_no_lock(geneva: gd.Drive, at: str) -> None:
    class Order(gd.Workflow):
        def _at(self, here: str) -> None:
            if here == at and self.attempt == 1:
                _write_on_another_thread()

        def before_step_starts(self, step_name: str) -> None:
            self._at("before")

        @contextmanager
        def around_step(self, step_name: str) -> Iterator[None]:
            self._at("around")
            yield

        ship = gd.child(
            Ship,
            hero=lambda self: self._at("hero"),
            context=lambda self: self._at("context"),
        )

    parent = Order.create()

    drain()

    assert history(parent) == [("ship", "waiting", None)]
    assert (Note.ongoing().count(), Ship.ongoing().count()) == (1, 1)


def test_a_child_that_is_refused_takes_back_nothing_of_what_led_to_it(geneva: gd.Drive) -> None:
    hero = gd.HeroRef("Purchase", "7")

    def written(self: Any) -> dict[str, Any]:
        return {"note": Note.create().id}

    class Order(gd.Workflow):
        ship = gd.child(Ship, hero=hero, context=written)

    existing = Ship.create(hero)
    parent = Order.create()

    drain()

    assert history(parent) == [("ship", "failed", "paused_by_exception")]
    assert Note.ongoing().count() == 1
    assert Ship.ongoing().ids() == [existing.id]


def test_the_hooks_around_a_child_hear_of_its_refusal_at_the_end(geneva: gd.Drive) -> None:
    told: list[Any] = []
    hero = gd.HeroRef("Purchase", "7")

    class Order(gd.Workflow):
        def before_step_starts(self, step_name: str) -> None:
            told.append("before")

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            told.append(outcome)

        ship = gd.child(Ship, hero=hero)

    Ship.create(hero)
    Order.create()

    drain()

    assert told == ["before", "paused_by_exception"]
