"""The position of a loop, in memory, and where it ends.

The engine stores the state as text: `LoopPosition` in engine/transitions/loop_position.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class LoopState:
    """The cursor and counts of a loop, over all its runs."""

    cursor: Any = None
    has_cursor: bool = False  # None may be a cursor
    completed: int = 0  # items, including skipped ones
    errors: int = 0  # skipped items


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The part of a step's items that a run loops over."""

    wanted: int = 1  # how many partitions the step asks for
    is_assigned: bool = False  # this run loops over one of them
    until: Any = None  # the cursor of its last item; None for the end of all items


UNDIVIDED = Partitioning()
