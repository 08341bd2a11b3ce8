"""What happens to a node when its workflow continues."""

from __future__ import annotations

from enum import IntEnum, auto


class Fate(IntEnum):  # an integer is hashed quickly, and a node may have 100,000 parents
    DONE = auto()
    PASSED_OVER = auto()  # on a branch that is not chosen
    ACTIVE = auto()
    NEXT = auto()
    LATER = auto()
    PERHAPS = auto()  # after a choice that is not made yet
    UNCERTAIN = auto()  # after an approval or event that may end the workflow
    BLOCKED = auto()  # failed, or after a node that failed
