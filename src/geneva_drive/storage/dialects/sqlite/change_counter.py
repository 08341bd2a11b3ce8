"""Hints through SQLite's `data_version`, which counts the changes of other connections."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sqlalchemy import Engine

from geneva_drive.storage.dialects.hints import Hints, Ring, Watch, taken_out

_LIVELY, _QUIET = 0.005, 0.05  # seconds between two reads of the counter
_LIVELY_FOR = 1.0


class ChangeCounter(Hints):
    """Watches the counter of changes made by other connections, of any process.

    The counter is read on the connection that saves checkpoints, if that is kept open: a connection
    does not count its own changes, so the checkpoints of a loop wake no worker.
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
                # Compare the cursor, too: a connection opened meanwhile has a different count.
                count = cursor, cursor.execute("PRAGMA data_version").fetchall()
            if count != seen:
                seen, changed_at = count, time.monotonic()
                self._ring(None)
            is_lively = time.monotonic() - changed_at < _LIVELY_FOR
            self._stopping.wait(_LIVELY if is_lively else _QUIET)

    def stop(self) -> None:
        self._stopping.set()

    def close(self) -> None:
        """Nothing to release: `run` closes its connection."""
