"""Background threads of a worker, such as the heartbeat and the housekeeping duties."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from geneva_drive.errors import StorageError
from geneva_drive.storage.connections import typed_errors
from geneva_drive.storage.connections.trouble_log import TroubleLog

logger = logging.getLogger(__name__)

_BETWEEN_RINGS = 0.005  # seconds: many rings that follow each other closely are one


def report_failure(what: str, error: Exception, pause: float, log: TroubleLog) -> None:
    """Log a failed round.

    A database in trouble is logged once while the trouble lasts, another database error with one
    line each time, and anything else with a traceback.
    """
    if isinstance(error, typed_errors.PASSING):
        log.met(error)
    elif isinstance(error, StorageError | OperationalError | InterfaceError):
        logger.warning("%s failed; next try in %gs: %s", what, pause, in_a_line(error))
    else:
        logger.error("%s failed; next try in %gs", what, pause, exc_info=error)


def in_a_line(error: BaseException) -> str:
    """Return the message in one line, without the statement that SQLAlchemy adds to it."""
    words = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(words).split())


class Service(Protocol):
    """A background activity of a worker; services stop in the reverse order of their start."""

    def start(self) -> None: ...

    def stop(self, timeout: float) -> None: ...


class Periodic:
    """Repeats an action on its own thread."""

    def __init__(
        self,
        name: str,
        every: timedelta,
        action: Callable[[], object],
        log: TroubleLog,
        *,
        first_after: timedelta | None = None,
        after_failure: timedelta | None = None,
        bell: threading.Event | None = None,  # ends the pause, unless it follows a failure
    ) -> None:
        self.name = name
        self._bell = bell
        self.first_after = every if first_after is None else first_after
        self._every = every.total_seconds()
        self._after_failure = min(every, after_failure or every).total_seconds()
        self._action = action
        self._log = log
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"geneva-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> None:
        self._stopping.set()
        if self._bell is not None:
            self._bell.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        pause, has_failed = self.first_after.total_seconds(), False
        while not self._is_stopped_after(pause, may_be_rung=not has_failed):
            pause = self._every
            try:
                self._action()
            except Exception as error:  # noqa: BLE001 - one bad round must not end the heartbeat
                pause, has_failed = self._after_failure, True
                report_failure(self.name.capitalize(), error, pause, self._log)
            else:
                if has_failed:
                    self._log.passed()
                has_failed = False

    def _is_stopped_after(self, pause: float, *, may_be_rung: bool) -> bool:
        if self._bell is None or not may_be_rung:
            return self._stopping.wait(pause)
        if not self._bell.wait(pause):
            return self._stopping.is_set()
        self._bell.clear()
        return self._stopping.wait(_BETWEEN_RINGS)
