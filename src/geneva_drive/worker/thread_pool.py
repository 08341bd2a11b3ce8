"""The threads that run steps; a thread that hangs is replaced."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from geneva_drive.worker.flights import Flight

logger = logging.getLogger(__name__)

# Runs a flight; returns the flight that the same thread runs next, if any.
Work = Callable[[Flight], Flight | None]


class Pool:
    """A fixed number of working threads; a thread stuck in a timed-out body is replaced."""

    def __init__(self, size: int, work: Work) -> None:
        self._size = size
        self._work = work
        self._inbox: queue.SimpleQueue[Flight | None] = queue.SimpleQueue()
        self._stuck: set[Flight] = set()
        self._lock = threading.Lock()
        self._is_stopping = False

    def start(self) -> None:
        for _ in range(self._size):
            self._start_thread()

    def submit(self, flight: Flight) -> None:
        self._inbox.put(flight)

    def stop(self) -> None:
        """End each thread after its flight; a stuck one ends with the process."""
        with self._lock:
            self._is_stopping = True
            for _ in range(self._size):
                self._inbox.put(None)

    def leave_behind(self, flight: Flight) -> int:
        """Replace the thread that is stuck with `flight`; return the number of stuck threads."""
        with self._lock:
            if flight.is_off_its_thread:
                return len(self._stuck)  # the body has ended after all
            self._stuck.add(flight)
            number = len(self._stuck)
        try:
            self._start_thread()
        except RuntimeError:  # the system has no thread left, so the stuck one remains in use
            with self._lock:
                self._stuck.discard(flight)
            raise
        return number

    def _start_thread(self) -> None:
        threading.Thread(target=self._serve, name="geneva-step", daemon=True).start()

    def _serve(self) -> None:
        following: Flight | None = None
        while True:
            flight = self._next(following)
            if flight is None:
                return
            following = None
            try:
                following = self._work(flight)
            except Exception:
                # A bug of the worker, not of the step: the thread must continue.
                logger.exception("Execution %s was dropped", flight.claimed.execution.id)
            if self._was_replaced(flight):
                # Another thread has taken the place of this one.
                if following is not None:
                    self._inbox.put(following)
                return

    def _next(self, following: Flight | None) -> Flight | None:
        """Return `following`; if other flights wait, queue it after them and return the first."""
        if following is None:
            return self._inbox.get()
        with self._lock:
            # While stopping, no thread would read the inbox past the last `None`.
            if self._inbox.empty() or self._is_stopping:
                return following
            self._inbox.put(following)
        return self._inbox.get()

    def _was_replaced(self, flight: Flight) -> bool:
        with self._lock:
            flight.is_off_its_thread = True
            if flight not in self._stuck:
                return False
            self._stuck.discard(flight)
            return True
