"""One log line for each trouble of the database, however many threads meet it."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from datetime import timedelta

from geneva_drive.durations import describe
from geneva_drive.errors import StorageError
from geneva_drive.storage.connections.typed_errors import PASSING

logger = logging.getLogger(__name__)


_OVER_AFTER = (
    30.0  # seconds without meeting a trouble again: longer than any rest between two tries
)


@dataclass(slots=True)
class _Met:
    words: str
    since: float
    last: float


class TroubleLog:
    """The troubles that this process has with its database at present."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._met: dict[type[StorageError], _Met] = {}

    def met(self, error: StorageError) -> None:
        """Log a trouble, unless one of this kind lasts already."""
        now, kind = time.monotonic(), next(kind for kind in PASSING if isinstance(error, kind))
        with self._lock:
            self._forget(now)
            known = self._met.get(kind)
            if known is not None:
                known.last = now
                return
            self._met[kind] = _Met(str(error), now, now)
        logger.warning("Waiting for the database, and trying again: %s", error)

    def passed(self) -> None:
        """Log that the database answers again."""
        now = time.monotonic()
        with self._lock:
            troubles, self._met = list(self._met.values()), {}
        if troubles:
            lasted = timedelta(seconds=now - min(one.since for one in troubles))
            logger.info("The database answers again, after %s", describe(lasted))

    def current(self) -> str | None:
        """Return the words of the present trouble; None if there is none."""
        with self._lock:
            self._forget(time.monotonic())
            return next((one.words for one in self._met.values()), None)

    def _forget(self, now: float) -> None:
        for kind in [kind for kind, one in self._met.items() if now - one.last > _OVER_AFTER]:
            del self._met[kind]
