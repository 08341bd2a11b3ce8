"""Errors about a workflow class or document, which must be changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from geneva_drive.errors.base import GenevaDriveError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in a document, with the path to it."""

    path: str
    message: str


class StepConfigurationError(GenevaDriveError, TypeError):
    """A workflow class or document has faults. Raised when the class is created.

    `where` is its file and line; `faults` lists all faults of a document.
    """

    def __init__(self, what: str, where: str | None = None, faults: Sequence[Fault] = ()) -> None:
        self.what = what
        self.where = where
        self.faults = tuple(faults)
        super().__init__(f"{what} ({where})" if where else what)
