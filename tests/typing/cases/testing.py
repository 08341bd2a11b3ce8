"""The helpers for tests keep the class of the workflow."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import (
    drain,
    instance,
    perform_next_step,
    perform_step_inline,
    speedrun,
    time_travel,
)


class Signup(gd.Workflow[int]):
    @gd.step(keep_result=True)
    def total(self) -> int:
        return self.hero


def helping(workflow: gd.WorkflowHandle[Signup]) -> None:
    assert_type(speedrun(workflow), gd.WorkflowHandle[Signup])
    assert_type(
        speedrun(workflow, decisions={"manager": "approve", Signup.total: {"choice": "reject"}}),
        gd.WorkflowHandle[Signup],
    )
    assert_type(perform_next_step(workflow), gd.StepExecution | None)
    assert_type(perform_step_inline(workflow, Signup.total), gd.StepExecution)
    assert_type(drain(), int)
    assert_type(instance(Signup, hero=gd.HeroRef("User", "7")), Signup)
    assert_type(instance(Signup, context={"net": 1}).total(), int)
    with time_travel(timedelta(days=2)) as clock:
        assert_type(clock, ShiftedClock)
