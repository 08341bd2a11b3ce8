"""The schedules of the classes that this process has imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from geneva_drive.definition import registry
from geneva_drive.definition.schedule import Cron


class ServedSchedules:
    """Schedules by type, and which of them the database already has.

    It keeps no class: a class that is out of reach must be forgotten.
    """

    def __init__(self) -> None:
        self._seen: Sequence[str] | None = None
        self._served: Mapping[str, Cron] = {}
        self._registered: dict[str, Cron] = {}

    def all(self) -> Mapping[str, Cron]:
        """Return the schedules; cheap, as a worker asks with each look at its timers."""
        types = registry.types()
        # The registry makes another list when a class comes or goes.
        if types is not self._seen:
            self._served = {
                known.type: known.schedule
                for known in registry.definitions()
                if known.schedule is not None
            }
            self._seen = types
        return self._served

    def unregistered(self) -> list[tuple[str, Cron]]:
        """Return the schedules that this process has not brought to the database."""
        served, registered = self.all(), self._registered
        return [(name, cron) for name, cron in served.items() if registered.get(name) != cron]

    def note_registered(self, type_name: str, cron: Cron) -> None:
        self._registered[type_name] = cron
