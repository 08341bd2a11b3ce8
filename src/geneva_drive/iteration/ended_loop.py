"""What `it` meets that was kept beyond the end of its step."""

from __future__ import annotations

from typing import NoReturn

from geneva_drive.errors import InvalidStateError


class EndedBackend:
    """Stands where positions were saved: whatever is asked of it, the step is over."""

    def __init__(self, step_name: str) -> None:
        self._step_name = step_name

    def __getattr__(self, name: str) -> NoReturn:
        raise InvalidStateError(
            f"Step {self._step_name!r} is over, and nothing more of its loop can be saved. Use "
            f"`it` within the body only, and wait there for the threads and tasks that it starts."
        )
