"""The load that workers and servers are killed under: many workflows of ten short steps.

Most steps do nothing, as in the benchmark, and so are committed in large groups. Each notes outside
of any transaction that it began, so that it can be judged what ran when, whatever was lost.
"""

from __future__ import annotations

import logging
import os
import time
from datetime import UTC, datetime
from typing import Any

import geneva_drive as gd
from tests.scenarios.effects import EFFECTS
from tests.scenarios.programs import notes

DWELL = float(os.environ.get("GENEVA_SCENARIO_DWELL", "0"))  # seconds
STEPS = ("one", "two", "three", "four", "charge", "six", "weigh", "eight", "nine", "ten")

# A worker that logs each step is several times slower, and commits in smaller groups.
logging.basicConfig(level=logging.WARNING)


class Load(gd.Workflow):
    """Ten steps: one writes in its transaction, one keeps its result, the others do nothing."""

    @gd.step
    def one(self) -> None:
        note(self, "one")

    @gd.step
    def two(self) -> None:
        note(self, "two")

    @gd.step
    def three(self) -> None:
        note(self, "three")

    @gd.step
    def four(self) -> None:
        note(self, "four")

    @gd.step(transaction=True)
    def charge(self, session: Any) -> None:
        note(self, "charge")
        session.execute(EFFECTS.insert().values(workflow_id=self.id, step="charge"))

    @gd.step
    def six(self) -> None:
        note(self, "six")

    @gd.step(keep_result=True)
    def weigh(self) -> int:
        note(self, "weigh")
        return self.attempt

    @gd.step
    def eight(self) -> None:
        note(self, "eight")

    @gd.step
    def nine(self) -> None:
        note(self, "nine")

    @gd.step
    def ten(self) -> None:
        note(self, "ten")


def note(workflow: Load, step: str) -> None:
    """Say that a body began, and dwell in it.

    What is written so is not lost when the process is killed.
    """
    began_at = datetime.now(UTC).isoformat()
    os.write(notes(), f"{workflow.id} {step} {workflow.attempt} {began_at}\n".encode())
    if DWELL:
        time.sleep(DWELL)
