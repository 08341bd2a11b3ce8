"""How a loop ends between two items."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from geneva_drive.states import Interruption


class PartitionsFound(BaseException):
    """The step is divided into partitions here, each of which goes through its share."""

    def __init__(self, after: Any, borders: Sequence[Any]) -> None:
        self.after = after
        self.borders = tuple(borders)
        super().__init__(f"divided at {self.borders}")


class RanTooLong(BaseException):
    """The step is past its timeout, and fails here; what is done is saved."""


class Interrupted(BaseException):
    """The loop stops here; its cursor says where it goes on.

    Not an `Exception`, so that a step's own `except Exception` lets it pass.
    """

    def __init__(self, by: Interruption, wait: timedelta = timedelta(0)) -> None:
        self.by = by
        self.wait = wait
        super().__init__(f"interrupted by {by}")
