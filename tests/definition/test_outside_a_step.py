from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidStateError


class Signup(gd.Workflow[Any]):
    type_name = "tests.outside.Signup"

    @gd.step(keep_result=True)
    def total(self) -> int:
        return 3


@pytest.mark.parametrize("verb", ["cancel", "pause", "skip", "finish", "reattempt"])
def test_flow_control_is_refused_on_an_instance_that_is_not_executing(verb: str) -> None:
    with pytest.raises(InvalidStateError) as caught:
        getattr(Signup(), verb)()

    assert str(caught.value) == (
        f"Signup.{verb}() is flow control for a running step, and this instance is not executing "
        f"one. To {verb} a workflow from outside, use its handle."
    )


@pytest.mark.parametrize(
    "read",
    [
        lambda self: self.id,
        lambda self: self.hero,
        lambda self: self.hero_id,
        lambda self: self.context,
        lambda self: self.attempt,
        lambda self: self.logger,
        lambda self: self.handle,
        lambda self: self.result_of("total"),
    ],
    ids=["id", "hero", "hero_id", "context", "attempt", "logger", "handle", "result_of"],
)
def test_an_instance_that_is_not_executing_knows_nothing(read: Callable[[Signup], Any]) -> None:
    with pytest.raises(InvalidStateError) as caught:
        read(Signup())

    assert str(caught.value) == (
        "This Signup instance is not executing a step. "
        "Outside a step, use the handle that create() or find() returns."
    )


def test_the_hooks_do_nothing_by_themselves() -> None:
    workflow = Signup()

    workflow.before_step_starts("total")
    with workflow.around_step("total"):
        inside = workflow.total()
    workflow.after_step_ends("total", gd.Outcome.SUCCESS)

    assert inside == 3
