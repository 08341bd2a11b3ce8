"""Schedules of the classes that this worker has: register them, and fire the due runs."""

from __future__ import annotations

import logging
import time

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.schedules import registration
from geneva_drive.engine.schedules.schedule_runs import fire
from geneva_drive.errors import InvalidInput
from geneva_drive.worker.housekeeping.duty import DutyRound
from geneva_drive.worker.housekeeping.refused_rows import Refusals

logger = logging.getLogger(__name__)

_REST = 0.25  # seconds before a schedule that another process has locked is tried again


class DueSchedules:
    """Fires due schedules, one transaction each; without schedules it sends no statement."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._refusals = Refusals("Schedule %s cannot be fired")
        self._held: dict[str, float] = {}  # schedule -> when to try it again

    def register(self) -> None:
        """Store the new schedules of this process."""
        registration.register_served(self._environment)

    def types(self) -> list[str]:
        """Return the schedules that this worker may fire now."""
        environment = self._environment
        documents = environment.triggered_documents.by_schedule(environment.store)
        served = {*environment.served_schedules.all(), *documents}
        if not served:
            return []
        now = time.monotonic()
        refused = self._refusals.keys
        return [name for name in served if name not in refused and self._held.get(name, now) <= now]

    def fire_due(self) -> DutyRound:
        types = self.types()
        if not types:
            return DutyRound(0, has_more=False)
        store, now = self._environment.store, self._environment.clock.now()
        due = store.read(lambda connection: store.schedules.due(connection, types, now))
        changed = self._refusals.each(self._environment, due, self._fire)
        return DutyRound(changed, has_more=changed > 0)

    def _fire(self, type_name: str) -> int:
        try:
            fired = fire(self._environment, type_name)
        except InvalidInput as error:
            # A context type that refuses its defaults, or a time zone that this machine lacks.
            self._refusals.keys.add(type_name)
            logger.warning("Schedule %s cannot be fired by this worker: %s", type_name, error)
            return 0
        if fired is None:
            self._held[type_name] = time.monotonic() + _REST
        return fired or 0
