"""The input of a simulation: a context, decisions and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class SimulatedDecision(StrEnum):
    """What happens to a step that waits."""

    APPROVE = "approve"
    REJECT = "reject"
    EXPIRE = "expire"  # an approval, or a wait for an event
    FAIL = "fail"  # any step: it raises


@dataclass(frozen=True, slots=True)
class SimulatedEvent:
    """An event that is published before the workflow starts."""

    type: str
    payload: Any = None
    key: str | None = None
    has_any_key: bool = False  # it fits waits for any key


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run. A wait without a decision or event leaves the workflow waiting."""

    context: Mapping[str, Any] = field(default_factory=dict)
    decisions: Mapping[str, SimulatedDecision] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)  # of decisions
    events: Sequence[SimulatedEvent] = ()
