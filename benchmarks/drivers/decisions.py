"""W9a and W9b in the client: workflows that wait, and the calls that let them continue."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from benchmarks.drivers.marks import Marks

POLL_INTERVAL = 0.02
TIME_LIMIT = 600.0
REST = 0.5  # after which a worker is idle


class ReleasingDriver(Protocol):
    """What lets workflows continue that wait: for a person, or for an event."""

    def start_waiting(self, count: int) -> Sequence[Any]:
        """Start workflows that wait for a decision; return their requests once all wait."""

    def decide(self, request: Any) -> None:
        """Decide one request; it is durable when this returns."""

    def is_deciding(self) -> bool:
        """True if a workflow that was decided has not finished."""


class PublishingDriver(ReleasingDriver, Protocol):
    """What a system can do besides if its workflows can wait for events."""

    def publish(self, count: int) -> float:
        """Publish events for which no workflow waits; return the seconds of all."""


class DecidingDriver(ReleasingDriver, Protocol):
    """What a system can do besides if its workflows can wait for a person."""

    def hold(self, paused: int, count: int) -> dict[str, list[float]]:
        """Pause and resume single workflows beside paused ones; return the seconds of each."""

    def first_pages(self, count: int) -> list[float]:
        """Read the first page of the requests for a role so often; return the seconds of each."""


class Decisions:
    """Decides, and reads the clock."""

    def __init__(
        self, driver: ReleasingDriver, marks: Marks, start_latency: Callable[[], float]
    ) -> None:
        self._driver = driver
        self._marks = marks
        self._start_latency = start_latency

    def decisions(self, samples: int) -> dict[str, list[float]]:
        """Return the seconds from a decision to the next body, and from a start to the first.

        They take turns, sample by sample, on a worker that is idle in between.
        """
        decided, started = [], []
        for request in self._driver.start_waiting(samples):
            decided.append(self._latency(request))
            started.append(self._start_latency())
        return {"decided": decided, "started": started}

    def decided_at_once(self, waiting: int, decided: int, callers: int) -> float:
        """Decide some of many; return the seconds from the first call to the last next body."""
        requests = self._driver.start_waiting(waiting)[:decided]
        time.sleep(REST)
        with ThreadPoolExecutor(callers + 1) as pool:
            # Marks are read as they come: a body waits for room in the socket.
            last = pool.submit(lambda: max(self._marks.wait_for_begun() for _ in requests))
            called_at = time.time()
            for answer in [pool.submit(self._driver.decide, request) for request in requests]:
                answer.result()
            last_at = last.result()
        self._wait_until_finished()
        return last_at - called_at

    def _latency(self, request: Any) -> float:
        # Spread over the worker's polling rhythm, as in W3.
        time.sleep(random.uniform(0.02, 0.06))
        called_at = time.time()
        self._driver.decide(request)
        begun_at = self._marks.wait_for_begun()
        self._wait_until_finished()
        return begun_at - called_at

    def _wait_until_finished(self) -> None:
        deadline = time.monotonic() + TIME_LIMIT
        pause = threading.Event()
        while self._driver.is_deciding():
            if time.monotonic() > deadline:
                raise TimeoutError(f"Decided workflows were unfinished after {TIME_LIMIT:.0f} s.")
            pause.wait(POLL_INTERVAL)
