"""One log line for each trouble of the database, however many threads meet it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from geneva_drive.durations import describe
from geneva_drive.errors import StorageError
from geneva_drive.storage.connections.typed_errors import PASSING

logger = logging.getLogger(__name__)

_OVER_AFTER = 30.0  # seconds without meeting it again: longer than any rest between two tries
# Some calls may succeed while others fail: a trouble that returns within so many seconds of its end
# is not logged again.
_QUIET_AFTER_PASSING = 10.0


@dataclass(slots=True)
class _Met:
    words: str
    since: float
    last: float
    passed_at: float | None = None
    is_end_logged: bool = False


class TroubleLog:
    """The current troubles of this process with its database."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._met: dict[type[StorageError], _Met] = {}

    def met(self, error: StorageError) -> None:
        """Log a trouble, unless the same kind of trouble was logged and is not over."""
        kind = next(kind for kind in PASSING if isinstance(error, kind))
        with self._lock:
            now = self._forget()
            known = self._met.get(kind)
            if known is not None:
                known.words, known.last, known.passed_at = str(error), now, None
                return
            self._met[kind] = _Met(str(error), now, now)
        logger.warning("Waiting for the database, and trying again: %s", error)

    def passed(self) -> None:
        """Log that the database answers again."""
        with self._lock:
            now = self._forget()
            over = [one for one in self._met.values() if one.passed_at is None]
            ended = [one.since for one in over if not one.is_end_logged]
            for one in over:
                one.passed_at, one.is_end_logged = now, True
        if ended:
            lasted = timedelta(seconds=now - min(ended))
            logger.info("The database answers again, after %s", describe(lasted))

    def current(self) -> str | None:
        """Return the message of the current trouble; None if there is none."""
        with self._lock:
            self._forget()
            present = (one.words for one in self._met.values() if one.passed_at is None)
            return next(present, None)

    def _forget(self) -> float:
        """Forget the troubles that are over; return the current time."""
        now = self._clock()
        self._met = {kind: one for kind, one in self._met.items() if not _is_over(one, now)}
        return now


def _is_over(one: _Met, now: float) -> bool:
    if one.passed_at is not None:
        return now - one.passed_at > _QUIET_AFTER_PASSING
    return now - one.last > _OVER_AFTER
