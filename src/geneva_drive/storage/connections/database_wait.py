"""How library calls wait for a database in trouble while a step runs.

Outside a step, a call is tried a few times within a second and then raises. A running step is not
to blame: its calls wait, at most for a lease, and then the worker releases the execution.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from geneva_drive.errors import DatabaseBusy, DatabaseUnavailable, StorageError
from geneva_drive.internal_backoff import InternalBackoff
from geneva_drive.storage.connections.trouble_log import TroubleLog

_QUICK_TRIES = 5
_QUIET_TRIES = 3
_QUICK_DELAY = InternalBackoff(timedelta(milliseconds=20))
_DELAY = InternalBackoff(timedelta(milliseconds=50), longest=timedelta(seconds=1))


class TroubleLasts(BaseException):
    """A call of a running step gave up waiting; the worker releases the execution.

    It has to pass through user code like a flow-control verb, so it is no `Exception`.
    """

    def __init__(self, error: StorageError, *, is_stopping: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_stopping = is_stopping  # the wait was cut short, as the worker stops

    @classmethod
    def among(cls, group: BaseExceptionGroup) -> TroubleLasts | None:
        """Return the first one in a group; asyncio.TaskGroup wraps the errors of its tasks."""
        for one in group.exceptions:
            found = cls.among(one) if isinstance(one, BaseExceptionGroup) else one
            if isinstance(found, TroubleLasts):
                return found
        return None


class AnswerLost(DatabaseUnavailable):
    """The connection was lost during COMMIT: the work may have been done."""


@dataclass(slots=True)
class Patience:
    """How long the calls of a running step wait, and how long they have waited."""

    longest: timedelta
    should_stop: Callable[[], bool] = lambda: False
    _rested: float = 0.0
    _resting_since: float | None = None

    @property
    def waited(self) -> float:
        """The seconds of all rests so far, which the timeout of the step does not count."""
        since = self._resting_since
        return self._rested if since is None else self._rested + time.monotonic() - since

    def rest(self, seconds: float) -> None:
        self._resting_since = time.monotonic()
        time.sleep(seconds)
        self._rested, self._resting_since = self.waited, None


class Wait:
    """One wait for the database, over all tries of one call."""

    def __init__(
        self, patience: Patience | None, log: TroubleLog, *, also_if_busy: bool = False
    ) -> None:
        self._patience = patience
        self._log = log
        quick = (DatabaseUnavailable, DatabaseBusy) if also_if_busy else DatabaseUnavailable
        self._quickly_again = quick  # outside a step
        self._tries = 0
        self._give_up_at: float | None = None
        self._is_cut_short = False

    @property
    def has_lasted(self) -> bool:
        """True unless the wait ended early because the worker stops."""
        return not self._is_cut_short

    def may_try_again(self, error: StorageError) -> bool:
        """Rest and return True; False if the call has been tried for long enough."""
        self._tries += 1
        if self._patience is None:
            if self._tries >= _QUICK_TRIES or not isinstance(error, self._quickly_again):
                return False
            time.sleep(_QUICK_DELAY.before(self._tries))
            return True
        # Occasional deadlocks are normal, and the next try succeeds: do not log them.
        if self._tries > _QUIET_TRIES or not isinstance(error, DatabaseBusy):
            self._log.met(error)
        if self._give_up_at is None:
            self._give_up_at = time.monotonic() + self._patience.longest.total_seconds()
        # A stopping worker does not wait for an outage to end, but it retries after a deadlock.
        self._is_cut_short = self._tries >= _QUICK_TRIES and self._patience.should_stop()
        if self._is_cut_short or time.monotonic() >= self._give_up_at:
            return False
        self._patience.rest(_DELAY.before(self._tries))
        return True

    def is_over(self) -> None:
        """Note that the call succeeded."""
        if self._tries and self._patience is not None:
            self._log.passed()

    def give_up(self, error: StorageError) -> None:
        """Raise `TroubleLasts` if a step runs; otherwise the caller raises its own error."""
        if self._patience is not None:
            is_stopping = self._patience.should_stop()
            raise TroubleLasts(error, is_stopping=is_stopping) from error
