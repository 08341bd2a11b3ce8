"""Flights: the executions that a worker holds, from claim to commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.execution.step_run import StepRun
from geneva_drive.storage.schema.records import Key


@dataclass(slots=True, eq=False)
class Flight:
    """One execution from claim to commit; the first thread to settle it reports its outcome."""

    claimed: Claimed
    run: StepRun | None = None
    has_started: bool = False  # a thread has begun it
    is_off_its_thread: bool = False  # the thread is done with it; written under the pool's lock
    _waits_since: float = field(default_factory=time.monotonic)
    _settled: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def settle(self) -> bool:
        """Take the right to report the outcome; False if another thread has it."""
        with self._lock:
            if self._settled:
                return False
            self._settled = True
            return True

    def start(self) -> bool:
        """Begin to run it; False if it was released before a thread was free for it."""
        with self._lock:
            self.has_started = not self._settled
            return self.has_started

    def settle_waiting(self, since: float) -> bool:
        """Settle it if it has waited for a thread since `since` or earlier."""
        with self._lock:
            if self._settled or self.has_started or self._waits_since > since:
                return False
            self._settled = True
            return True


class Flights:
    """All flights of a worker: running, or waiting for the next free thread."""

    def __init__(self) -> None:
        self._flights: dict[Key, Flight] = {}
        self._lock = threading.Lock()
        self._emptied = threading.Condition(self._lock)

    def __len__(self) -> int:
        with self._lock:  # without it, a worker between two steps of a chain could look idle
            return len(self._flights)

    def add(self, claimed: Iterable[Claimed]) -> list[Flight]:
        flights = [Flight(one) for one in claimed]
        with self._lock:
            self._flights.update({flight.claimed.execution.id: flight for flight in flights})
        return flights

    def replace(self, landed: Iterable[tuple[Flight, Claimed | None]]) -> list[Flight]:
        """Remove flights that landed; add and return a flight for each claim that follows one."""
        following = []
        with self._lock:
            for former, claimed in landed:
                # A suspended or released execution may have been claimed again, by a new flight.
                if self._flights.get(former.claimed.execution.id) is former:
                    del self._flights[former.claimed.execution.id]
                if claimed is not None:
                    flight = Flight(claimed)
                    self._flights[claimed.execution.id] = flight
                    following.append(flight)
            if not self._flights:
                self._emptied.notify_all()
        return following

    def on_queue(self, queue: str) -> int:
        with self._lock:
            return sum(one.claimed.execution.queue == queue for one in self._flights.values())

    def all(self) -> list[Flight]:
        with self._lock:
            return list(self._flights.values())

    def ids(self) -> set[Key]:
        with self._lock:
            return set(self._flights)

    def abandon(self) -> None:
        """Forget all flights: the worker is dead, and its claims are left to other workers."""
        with self._lock:
            self._flights.clear()
            self._emptied.notify_all()

    def wait_until_empty(self, timeout: float) -> bool:
        with self._emptied:
            return self._emptied.wait_for(lambda: not self._flights, timeout)
