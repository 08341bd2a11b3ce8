"""Events and callbacks, as bodies and later steps read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Event:
    """A published event: the second argument of a `@gd.wait_for_event` body, and its result."""

    number: Any  # assigned by the database
    id: str  # assigned by the publisher, unique per source
    source: str
    type: str
    key: str | None
    payload: Any
    published_at: datetime
    expires_at: datetime | None

    def stored(self) -> dict[str, Any]:
        """Return the event as values to store."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Event:
        return Event(**values)


_FIELDS = tuple(Event.__dataclass_fields__)


@dataclass(frozen=True, kw_only=True)
class Callback:
    """A received callback: the second argument of a `@gd.wait_for_callback` body."""

    payload: Any
    called_at: datetime

    def stored(self) -> dict[str, Any]:
        """Return the callback as values to store."""
        return {"payload": self.payload, "called_at": self.called_at}

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Callback:
        return Callback(**values)
