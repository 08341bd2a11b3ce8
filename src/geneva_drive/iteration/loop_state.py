"""Where a loop stands, and where it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class LoopState:
    """How far a loop has come, over all its runs."""

    cursor: Any = None
    has_cursor: bool = False  # None may be one
    completed: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class Partitioning:
    """Which share of a step's items a run goes through, if it is divided."""

    wanted: int = 1  # shares in all
    is_assigned: bool = False
    until: Any = None


UNDIVIDED = Partitioning()
