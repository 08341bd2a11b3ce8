"""Exceptions that end a run between two items.

They do not derive from `Exception`, so that an `except Exception` in a body does not catch them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from geneva_drive.states import Interruption


class PartitionsFound(BaseException):
    """The step must be divided into partitions at these cursors."""

    def __init__(self, after: Any, borders: Sequence[Any]) -> None:
        self.after = after
        self.borders = tuple(borders)
        super().__init__(f"divided at {self.borders}")


class RanTooLong(BaseException):
    """The step is past its timeout; the cursor is saved, and the step fails."""


class Interrupted(BaseException):
    """The loop stops here, and a later run continues from its cursor."""

    def __init__(self, by: Interruption, wait: timedelta = timedelta(0)) -> None:
        self.by = by
        self.wait = wait
        super().__init__(f"interrupted by {by}")
