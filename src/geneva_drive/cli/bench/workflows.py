"""The measured workflows: their steps only record when they ran."""

from __future__ import annotations

import time
from typing import Any

from geneva_drive.definition.nodes.step import step
from geneva_drive.definition.workflow import Workflow

Measured = type[Workflow[Any, Any]]


class Meter:
    """Records when steps ran."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def note(self, workflow: Workflow[Any, Any]) -> None:  # noqa: ARG002 - a step takes its workflow
        self.moments.append(time.perf_counter())  # `append` is safe on many threads


def make_class(name: str, step_count: int, meter: Meter) -> Measured:
    """Define a chain of steps within `registry.isolated()`, so that no other worker serves it."""

    def note(self: Workflow[Any, Any]) -> None:
        meter.note(self)

    class Chain(Workflow):
        type_name = f"geneva_bench_{name}"
        parts = [step(note) for _ in range(step_count)]  # noqa: RUF012 - a list of steps

    return Chain
