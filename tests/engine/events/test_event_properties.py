"""Random publishes, waits, keys, deadlines, pauses and crashes, against a simple model."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.engine import crash_points
from geneva_drive.engine.crash_points import Crash, Life, Point
from geneva_drive.testing import drain
from tests.approving import StandingClock

MINUTE = timedelta(minutes=1)
ran: dict[Any, Any] = {}


class Order(gd.Workflow[Any]):
    type_name = "test_event_properties.Order"

    @gd.wait_for_event(
        "paid",
        key=lambda self: self.context["key"],
        match=lambda self, event: event.payload >= 0,
        timeout=10 * MINUTE,
        on_timeout="continue",
    )
    def payment(self, event: gd.Event) -> None:
        ran[self.id] = event.payload

    @gd.step
    def ship(self) -> None:
        ran.setdefault(self.id, "timed out")


@dataclass
class Modelled:
    """A workflow as it should be."""

    key: int
    deadline: datetime
    heard: Any = None  # the payload, or "timed out"
    is_held: bool = False  # by an operator


@dataclass
class Model:
    clock: StandingClock
    events: list[tuple[int, int, datetime]] = field(default_factory=list)
    workflows: dict[Any, Modelled] = field(default_factory=dict)

    def publish(self, key: int, payload: int, ttl: timedelta) -> None:
        self.events.append((key, payload, self.clock.now() + ttl))
        for one in self.workflows.values():
            if one.key == key and one.heard is None and payload >= 0:
                one.heard = payload

    def create(self, workflow_id: Any, key: int) -> None:
        now = self.clock.now()
        live = [p for k, p, until in self.events if k == key and until > now and p >= 0]
        self.workflows[workflow_id] = Modelled(
            key, now + 10 * MINUTE, heard=live[0] if live else None
        )

    def pass_time(self) -> None:
        for one in self.workflows.values():
            if one.heard is None and one.deadline <= self.clock.now():
                one.heard = "timed out"

    def expected(self) -> dict[Any, Any]:
        return {
            key: one.heard
            for key, one in self.workflows.items()
            if one.heard is not None and not one.is_held
        }

    def unheard(self) -> list[Any]:
        """Return the workflows that wait, and that no operator holds."""
        return [key for key, one in self.workflows.items() if one.heard is None and not one.is_held]

    def held(self) -> list[Any]:
        return [key for key, one in self.workflows.items() if one.is_held]


def _die_at(point: Point) -> Any:
    def watch(reached: Point, _: Life | None) -> None:
        if reached == point:
            raise Crash

    return watch


def _crashing(random: Random) -> Any:
    """Return what makes the next publish or wait die before it looks, or nothing."""
    return crash_points.watching(
        _die_at(random.choice(["stored", "opened"])) if random.random() < 0.4 else lambda *_: None
    )


# 19, 34 and 49 hold events for a match beyond their time to live.
@pytest.mark.parametrize("seed", [0, 1, 19, 34, 49])
def test_every_workflow_hears_what_the_model_says(geneva: gd.Drive, seed: int) -> None:
    ran.clear()
    random, clock = Random(seed), StandingClock()
    geneva.clock = clock
    model = Model(clock)

    for number in range(30):
        key, act = random.choice((1, 2)), random.random()
        if act < 0.4:
            payload = number if random.random() < 0.7 else -1
            ttl = random.choice((1, 30)) * MINUTE
            with _crashing(random), suppress(Crash):
                geneva.publish("paid", payload, key=key, ttl=ttl, id=str(number))
            model.publish(key, payload, ttl)
        elif act < 0.5 and model.unheard():
            chosen = random.choice(model.unheard())
            geneva.workflows(Order).find(chosen).pause()
            model.workflows[chosen].is_held = True
        elif act < 0.6 and model.held():
            chosen = random.choice(model.held())
            geneva.workflows(Order).find(chosen).resume()
            model.workflows[chosen].is_held = False
        elif act < 0.8:
            workflow = Order.create(context={"key": key})
            with _crashing(random), suppress(Crash):
                drain(geneva)
            model.create(workflow.id, key)
        else:
            clock.advance(random.choice((1, 4)) * MINUTE)
            model.pass_time()
        drain(geneva)

        assert ran == model.expected()
