"""The backend of a loop whose step is over."""

from __future__ import annotations

from typing import NoReturn

from geneva_drive.errors import InvalidStateError


class EndedBackend:
    """Raises at every access: a thread or task of the body has kept `it`."""

    def __init__(self, step_name: str) -> None:
        self._step_name = step_name

    def __getattr__(self, name: str) -> NoReturn:
        raise InvalidStateError(
            f"Step {self._step_name!r} is over, and nothing more of its loop can be saved. Use "
            f"`it` only within the body, and wait there for the threads and tasks it starts."
        )
