"""The libraries that a server needs."""

from __future__ import annotations

from importlib.util import find_spec

from geneva_drive.errors import InvalidInput

_NEEDED = ("fastapi", "uvicorn", "jinja2")


class NoServer(InvalidInput):
    """The libraries of the extra `server` are not installed."""

    def __init__(self, command: str, missing: str | None) -> None:
        self.missing = missing
        super().__init__(
            f"geneva {command} needs the extra 'server' ({missing} is not installed): "
            f"pip install 'geneva-drive[server]'."
        )


def require_server(command: str) -> None:
    """Raise an error if a library is missing, without importing them: that takes a second."""
    for library in _NEEDED:
        if find_spec(library) is None:
            raise NoServer(command, library)
