"""`wait()` and `ended()`, which wait for the end of a workflow."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Self

from geneva_drive import checks
from geneva_drive.drive.handle.fields import W
from geneva_drive.drive.handle.repairs import HandleRepairs
from geneva_drive.durations import Duration, describe

_FIRST_PAUSE = 0.01  # seconds
_PAUSE_SHARE = 0.1  # of the time waited so far, between two polls


class HandleEnd(HandleRepairs[W]):
    """Waits until the workflow is finished or canceled.

    A worker in this process wakes the caller immediately. For workers elsewhere, the caller polls,
    less often the longer it takes.
    """

    def wait(self, timeout: Duration | None = None) -> Self:
        """Block until the workflow has ended, and return the reloaded handle.

        Raises `TimeoutError` if it has not ended in time. A paused workflow has not ended.
        """
        limit = _limit("wait", timeout)
        bell = threading.Event()
        stop_listening = self._drive.environment.awaited_ends.listen(self.id, bell.set)
        try:
            for pause in self._pauses(limit):
                if self._has_ended():
                    return self.reload()
                bell.wait(pause)
                bell.clear()
        finally:
            stop_listening()
        raise self._too_late(limit)

    async def ended(self, timeout: Duration | None = None) -> Self:
        """Wait like `wait()`, without blocking the event loop."""
        limit = _limit("ended", timeout)
        loop, bell = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(bell.set)

        environment = await asyncio.to_thread(lambda: self._drive.environment)
        stop_listening = environment.awaited_ends.listen(self.id, wake)
        try:
            for pause in self._pauses(limit):
                if await asyncio.to_thread(self._has_ended):
                    return await asyncio.to_thread(self.reload)
                with suppress(TimeoutError):
                    await asyncio.wait_for(bell.wait(), pause)
                bell.clear()
        finally:
            stop_listening()
        raise await asyncio.to_thread(self._too_late, limit)

    def _pauses(self, limit: timedelta | None) -> Iterator[float]:
        """Yield how long to pause after each poll; the last poll is at the time limit."""
        longest = self._drive.settings.poll_interval.total_seconds()
        began_at = time.monotonic()
        while True:
            waited = time.monotonic() - began_at
            pause = min(max(_FIRST_PAUSE, waited * _PAUSE_SHARE), longest)
            if limit is None:
                yield pause
                continue
            remaining = limit.total_seconds() - waited
            yield max(0.0, min(pause, remaining))
            if remaining <= 0:
                return

    def _has_ended(self) -> bool:
        store = self._drive.store
        return store.read(lambda connection: store.workflows.is_ended(connection, self.id))

    def _too_late(self, limit: timedelta | None) -> TimeoutError:
        assert limit is not None, "without a limit it is never too late"
        self.reload()
        why = self._drive.explain(self._record, self._oldest)
        return TimeoutError(f"Workflow {self.id} has not ended within {describe(limit)}. {why}")


def _limit(method: str, timeout: Duration | None) -> timedelta | None:
    return None if timeout is None else checks.duration(f"{method}(timeout=...)", timeout)
