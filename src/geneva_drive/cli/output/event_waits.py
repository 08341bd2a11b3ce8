"""Open waits for events, and the events that each has heard so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.explanation.wait_words import awaited_events
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord
from geneva_drive.storage.statements.waits.events import CALLBACK_TYPE


@dataclass(frozen=True, slots=True)
class EventWaitView:
    """A wait with the types that it has heard; only a wait with `mode="all"` has any while open."""

    wait: EventWaitRecord
    heard: tuple[str, ...]

    @property
    def words(self) -> str:
        about = awaited_events(self.wait)
        if not self.wait.is_all:
            return about
        count = f"{len(self.heard)} of {len(self.wait.patterns)} heard"
        names = f" ({', '.join(self.heard)})" if self.heard else ""
        return f"{about}: {count}{names}"

    @property
    def body(self) -> dict[str, Any]:
        wait = self.wait
        is_callback = wait.patterns == (CALLBACK_TYPE,)
        return {
            "step_name": wait.step_name,
            "kind": "callback" if is_callback else "event",
            "types": [] if is_callback else list(wait.patterns),
            "key": None if is_callback else wait.awaited_key or None,
            "mode": "all" if wait.is_all else "any",
            "heard": list(self.heard),
            "expires_at": None if wait.expires_at is None else wait.expires_at.isoformat(),
        }


def read_event_waits(drive: Drive, workflow_id: Key) -> tuple[EventWaitView, ...]:
    """Read the open waits of a workflow, the oldest first."""
    waits = drive.store.event_waits

    def read(connection: Connection) -> tuple[EventWaitView, ...]:
        found = waits.open_of(connection, workflow_id)
        grouped = [one.id for one in found if one.is_all]
        places = waits.places(connection, grouped) if grouped else {}
        return tuple(
            EventWaitView(one, tuple(one.patterns[n] for n in sorted(places.get(one.id, ()))))
            for one in found
        )

    return drive.store.read(read)


def event_wait_rows(views: Sequence[EventWaitView]) -> Iterator[tuple[str, str]]:
    """Yield a label and the awaited events, for each wait."""
    for view in views:
        yield f"{view.wait.step_name} waits for", view.words
