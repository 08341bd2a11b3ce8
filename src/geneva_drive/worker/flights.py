"""The executions that a worker has in its hands."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from geneva_drive.engine.executor import Claimed, Run
from geneva_drive.storage.records import Key


@dataclass(slots=True, eq=False)
class Flight:
    """One execution from claim to commit; whoever settles it first says what came of it."""

    claimed: Claimed
    run: Run | None = None
    _settled: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_settled(self) -> bool:
        with self._lock:
            return self._settled

    def settle(self) -> bool:
        """Take the right to report the outcome; False if another has it."""
        with self._lock:
            if self._settled:
                return False
            self._settled = True
            return True


class Flights:
    """All flights of a worker, never more than it has slots."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._flights: dict[Key, Flight] = {}
        self._changed = threading.Condition()

    @property
    def free(self) -> int:
        with self._changed:
            return self._slots - len(self._flights)

    def add(self, claimed: Claimed) -> Flight:
        flight = Flight(claimed)
        with self._changed:
            self._flights[claimed.execution.id] = flight
        return flight

    def replace(self, former: Flight, following: Claimed | None) -> Flight | None:
        """Land a flight; the one that follows it, if any, takes its slot."""
        with self._changed:
            self._flights.pop(former.claimed.execution.id, None)
            flight = None if following is None else Flight(following)
            if flight is not None:
                self._flights[flight.claimed.execution.id] = flight
            self._changed.notify_all()
        return flight

    def all(self) -> list[Flight]:
        with self._changed:
            return list(self._flights.values())

    def ids(self) -> set[Key]:
        with self._changed:
            return set(self._flights)

    def wait_until_empty(self, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._flights, timeout)
