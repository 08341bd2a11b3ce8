"""The schedules of the classes that this process has imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from geneva_drive.definition import registry
from geneva_drive.definition.schedule import Cron


class ServedSchedules:
    """Schedules by type, and which of them this process has registered in the database.

    It keeps no reference to a class, so that unused classes can be garbage collected.
    """

    def __init__(self) -> None:
        self._seen: Sequence[str] | None = None
        self._served: Mapping[str, Cron] = {}
        self._registered: dict[str, Cron] = {}

    def all(self) -> Mapping[str, Cron]:
        """Return the schedules; cheap, because a worker calls it with each check of its timers."""
        types = registry.types()
        # The registry returns another list object once a class is added or removed.
        if types is not self._seen:
            self._served = {
                known.type: known.schedule
                for known in registry.definitions()
                if known.schedule is not None
            }
            self._seen = types
        return self._served

    def unregistered(self) -> list[tuple[str, Cron]]:
        """Return the schedules that this process has not registered yet."""
        served, registered = self.all(), self._registered
        return [(name, cron) for name, cron in served.items() if registered.get(name) != cron]

    def note_registered(self, type_name: str, cron: Cron) -> None:
        self._registered[type_name] = cron
