"""SQLite's counter of changes, by which a process sees that another wrote something."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sqlalchemy import Engine

from geneva_drive.storage.dialects.hints import Hints, Ring, Watch, taken_out

_LIVELY, _QUIET = 0.005, 0.05  # seconds between two looks at SQLite's counter
_LIVELY_FOR = 1.0


class ChangeCounter(Hints):
    """SQLite's counter of changes made by other connections, in this process and others.

    Asked on the connection that saves the positions of loops, if one is kept for that: nobody is to
    be woken after each item of a loop.
    """

    def __init__(self, engine: Engine, saving: AbstractContextManager[Any] | None) -> None:
        self._engine = engine
        self._saving = saving

    def watch(self, ring: Ring) -> Watch:
        return _CounterWatch(self._engine, self._saving, ring)


class _CounterWatch:
    def __init__(
        self,
        engine: Engine,
        saving: AbstractContextManager[Any] | None,
        ring: Ring,
    ) -> None:
        self._engine = engine
        self._saving = saving
        self._ring = ring
        self._stopping = threading.Event()

    def run(self) -> None:
        if self._saving is not None:
            self._ask_on(self._saving)
            return
        with self._engine.connect() as connection:
            self._ask_on(nullcontext(taken_out(connection).cursor()))

    def _ask_on(self, asked: AbstractContextManager[Any]) -> None:
        seen = None
        changed_at = time.monotonic()
        while not self._stopping.is_set():
            with asked as cursor:
                # With whom was asked: another connection, opened meanwhile, counts by itself.
                count = cursor, cursor.execute("PRAGMA data_version").fetchall()
            if count != seen:
                seen, changed_at = count, time.monotonic()
                self._ring(None)
            is_lively = time.monotonic() - changed_at < _LIVELY_FOR
            self._stopping.wait(_LIVELY if is_lively else _QUIET)

    def stop(self) -> None:
        self._stopping.set()

    def close(self) -> None:
        """Its connection was closed when it ended."""
