"""The trace that a simulation returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from geneva_drive.declarative.routes import Ending, Result


class TraceState(StrEnum):
    """The state of a workflow at the end of a simulation."""

    FINISHED = "finished"
    WAITING = "waiting"  # for a decision or an event that the case does not have
    FAILED = "failed"  # the engine would pause the workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A step that was reached; `ending` is None while it waits."""

    step_id: str
    type: str
    ending: Ending | None
    reason: str | None = None
    details: tuple[str, ...] = ()  # what its actions did, or would do
    items: tuple[int, ...] = ()  # the index in each `foreach` around it


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The steps that a case reached, in order, and how it ended."""

    visits: tuple[Visit, ...]
    state: TraceState
    result: Result | None
    reason: str | None
    context: dict[str, Any]

    def step_ids(self) -> list[str]:
        return [visit.step_id for visit in self.visits]
