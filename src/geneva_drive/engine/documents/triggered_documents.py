"""Cached names of the documents that an event or a schedule starts."""

from __future__ import annotations

from collections.abc import Set

from geneva_drive.storage.store import Store

_NOTHING: Set[str] = frozenset()


class TriggeredDocuments:
    """Names of the documents that events and schedules start, refreshed by housekeeping.

    A document that another process deployed is known after the next round of housekeeping. No
    event or run is lost until then: both are stored with the document's name.
    """

    def __init__(self) -> None:
        self._by_event: Set[str] | None = None  # None: never read
        self._by_schedule: Set[str] = _NOTHING

    def by_event(self, store: Store) -> Set[str]:
        return self._read(store)[0]

    def by_schedule(self, store: Store) -> Set[str]:
        return self._read(store)[1]

    def refresh(self, store: Store) -> None:
        """Read the names again."""
        found = store.read_at_once(store.definitions.triggered)
        self._by_schedule = frozenset(name for name, _, is_scheduled in found if is_scheduled)
        self._by_event = frozenset(name for name, event, _ in found if event is not None)

    def _read(self, store: Store) -> tuple[Set[str], Set[str]]:
        if self._by_event is None:
            self.refresh(store)
        return self._by_event or _NOTHING, self._by_schedule
