"""The default Drive for workflow classes; this package must not import `drive`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_find: Callable[[], Drive] | None = None


def register(find: Callable[[], Drive]) -> None:
    """Set the function that returns the default Drive; called once, by `geneva_drive` itself."""
    global _find
    _find = find


def require(caller: str, drive: object) -> Drive:
    """Return a Drive that a user passed, or raise an error."""
    # Duck typing: this package must not import the class.
    if not callable(getattr(type(drive), "start_dynamic", None)):
        raise InvalidInput(f"{caller} must be a gd.Drive, got {shown(drive)}.")
    return drive  # type: ignore[return-value]  # checked above


def default_drive() -> Drive:
    assert _find is not None, "geneva_drive itself is imported before its rooms"
    return _find()
