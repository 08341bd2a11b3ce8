"""What becomes of a node when a workflow goes on."""

from __future__ import annotations

from enum import IntEnum, auto


class Fate(IntEnum):  # an integer is hashed quickly, and a node may have 100,000 parents
    DONE = auto()
    PASSED_OVER = auto()  # on a branch that is not chosen
    ACTIVE = auto()
    NEXT = auto()
    LATER = auto()
    PERHAPS = auto()  # behind a choice
    UNCERTAIN = auto()  # behind a person or event that may end the workflow
    BLOCKED = auto()  # failed, or behind a node that failed
