"""Values as SQLAlchemy writes them on SQLite, for the statements that do without it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

_WITHOUT_ZONE = len("2026-01-31 12:00:00.000000")


def moment_text(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(" ", "microseconds")[:_WITHOUT_ZONE]


def plain(value: Any) -> Any:
    """Give what the driver takes for a value of any of our columns."""
    match value:
        case datetime():
            return moment_text(value)
        case UUID():
            return value.hex
        case _:
            return value
