"""How a workflow class finds the default Drive, which is in a room above this one."""

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
    # Known by a method: its class is in a room above this one.
    if not callable(getattr(type(drive), "start_dynamic", None)):
        raise InvalidInput(f"{caller} must be a gd.Drive, got {shown(drive)}.")
    return drive  # type: ignore[return-value]  # checked above


def default_drive() -> Drive:
    assert _find is not None, "geneva_drive itself is imported before its rooms"
    return _find()
