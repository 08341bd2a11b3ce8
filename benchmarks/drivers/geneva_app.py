"""The workflow classes of the benchmark: what `geneva worker --app` imports."""

from __future__ import annotations

import logging
from typing import Any

import geneva_drive as gd
from benchmarks.drivers.marks import mark_begun

# Every system logs warnings only, or this one would write two lines per step.
logging.basicConfig(level=logging.WARNING)

ROLE = "manager"


def do_nothing(workflow: gd.Workflow) -> None: ...


@gd.job(name="bench.node")
def run_node() -> None:
    """What every node of a fan calls."""


class TenSteps(gd.Workflow):
    """The workflow of the throughput workloads."""

    steps = tuple(gd.step(do_nothing) for _ in range(10))


class HundredSteps(gd.Workflow):
    """One long chain, which tells when it begins."""

    @gd.step
    def begin(self) -> None:
        mark_begun()

    steps = tuple(gd.step(do_nothing) for _ in range(99))


class OneStep(gd.Workflow):
    """Tells when its only body runs."""

    @gd.step
    def begin(self) -> None:
        mark_begun()


class Sleeping(gd.Workflow):
    """Stands in the tables until much later; a backlog is made of it."""

    @gd.step
    def wake_up(self) -> None: ...


class Approved(gd.Workflow):
    """Waits for a decision, then tells when its next body runs."""

    @gd.approval(role=ROLE, ask="May it begin?")
    def decide(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    @gd.step
    def begin(self) -> None:
        mark_begun()
