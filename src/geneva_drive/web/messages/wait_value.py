"""The `wait` of a request body: a duration or a moment."""

from __future__ import annotations

from datetime import datetime

from geneva_drive.errors import InvalidInput


def duration_or_moment(given: str | float | None) -> datetime | float | str | None:
    """Return a moment if the text is one, else the duration unchanged, for the Drive to check."""
    if not isinstance(given, str) or "T" not in given:
        return given
    try:
        return datetime.fromisoformat(given)
    except ValueError:
        raise InvalidInput(
            f"wait must be a duration, such as 2h, or a moment, such as 2026-01-31T09:00:00Z, "
            f"got {given!r}."
        ) from None
