"""The records of events, their waits, listeners and starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from geneva_drive.serialization import typed_json
from geneva_drive.states import EventWaitState
from geneva_drive.storage.schema.records import Key


class _Row:
    __slots__ = ()

    @classmethod
    def read(cls, values: Sequence[Any]) -> Self:
        """Return the record for values in the order of its fields."""
        return cls(*values)


@dataclass(frozen=True, slots=True)
class EventRecord(_Row):
    """A row of `events`; the payload is typed JSON."""

    id: Key
    source: str
    event_id: str
    type: str
    event_key: str
    payload: str
    published_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class EventWaitRecord(_Row):
    """A row of `event_waits`; the types and the events that arrived are JSON."""

    id: Key
    workflow_id: Key
    execution_id: Key
    step_name: str
    state: EventWaitState
    types: str
    awaited_key: str
    is_all: bool
    has_match: bool
    seen_id: Key | None
    arrived: str | None
    opened_at: datetime
    expires_at: datetime | None

    @property
    def is_open(self) -> bool:
        return self.state is EventWaitState.OPEN

    @property
    def patterns(self) -> tuple[str, ...]:
        return tuple(typed_json.load(self.types))

    @property
    def arrived_ids(self) -> tuple[Key, ...]:
        """The events that the wait's match has not seen yet."""
        return tuple(typed_json.load(self.arrived) or ())


@dataclass(frozen=True, slots=True)
class EventListenerRecord(_Row):
    """A row of `event_listeners`: an open wait, or the type of a class that is started."""

    wait_id: Key | None
    workflow_id: Key | None
    type: str | None


@dataclass(frozen=True, slots=True)
class StartRecord(_Row):
    """A workflow type that an event starts, and the workflow or the error that came of it."""

    type: str
    workflow_id: Key | None
    error: str | None


EVENT_COLUMNS = tuple(EventRecord.__slots__)
WAIT_COLUMNS = tuple(EventWaitRecord.__slots__)
