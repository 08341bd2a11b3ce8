"""Events that a waiting workflow missed because their key is spelled slightly differently."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.publication import PublishedEvent
from geneva_drive.drive.search.pages import Place, events_search
from geneva_drive.states import Need
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord

_LOOKED_AT = 50  # of each type, the newest
_SHOWN = 3
_ALIKE = 0.7  # of the characters, in order


@dataclass(frozen=True, slots=True)
class NearEvent:
    """An event that no workflow heard, and the wait that it may be meant for."""

    event: PublishedEvent
    step: str


def near_events(drive: Drive, workflow: WorkflowHandle[Any]) -> list[NearEvent]:
    """Return unheard events of a type that the workflow waits for, with a similar key."""
    if workflow.needs is not Need.EVENT:
        return []
    store = drive.store
    waits = store.read(lambda connection: store.event_waits.open_of(connection, workflow.id))
    found = [one for wait in waits if wait.awaited_key for one in _near(drive, wait)]
    numbers = [one.event.number for one in found]
    heard = store.read(lambda connection: store.pages.heard_counts(connection, numbers))
    return [one for one in found if not any(heard[one.event.number])][:_SHOWN]


def _near(drive: Drive, wait: EventWaitRecord) -> list[NearEvent]:
    types = [pattern for pattern in wait.patterns if not pattern.endswith("*")]
    latest = [
        event
        for name in types
        for event in events_search(drive, Place(None, _LOOKED_AT), type=name).items
    ]
    return [NearEvent(event, wait.step_name) for event in latest if _is_alike(event.key, wait)]


def _is_alike(key: str | None, wait: EventWaitRecord) -> bool:
    if not key or key == wait.awaited_key:
        return False
    return SequenceMatcher(None, key, wait.awaited_key).ratio() >= _ALIKE
