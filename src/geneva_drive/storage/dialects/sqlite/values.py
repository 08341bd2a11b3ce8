"""Values as SQLAlchemy stores them in SQLite, for statements that bypass it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

_WITHOUT_ZONE = len("2026-01-31 12:00:00.000000")


def moment_text(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return _text(moment if moment.tzinfo is UTC else moment.astimezone(UTC))


# Cached: a batch has few different moments. In UTC, or two moments would be equal as cache keys
# in the hour when clocks are set back.
@lru_cache(maxsize=1024)
def _text(moment: datetime) -> str:
    return moment.isoformat(" ", "microseconds")[:_WITHOUT_ZONE]


@lru_cache(maxsize=1024)
def read_moment(written: str) -> datetime:
    """Return the moment that `moment_text` wrote."""
    return datetime.fromisoformat(f"{written}+00:00")


def plain(value: Any) -> Any:
    """Return what the driver takes for a value of any of our columns."""
    match value:
        case datetime():
            return moment_text(value)
        case UUID():
            return value.hex
        case _:
            return value
