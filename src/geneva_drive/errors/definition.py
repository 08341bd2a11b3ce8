"""Errors that are mended by changing the workflow class or document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from geneva_drive.errors.base import GenevaDriveError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a document, and the path that leads to it."""

    path: str
    message: str


class StepConfigurationError(GenevaDriveError, TypeError):
    """A workflow class or document is not what it should be: raised where it is written.

    `faults` lists everything that is wrong with a document.
    """

    def __init__(self, what: str, where: str | None = None, faults: Sequence[Fault] = ()) -> None:
        self.what = what
        self.where = where
        self.faults = tuple(faults)
        super().__init__(f"{what} ({where})" if where else what)
