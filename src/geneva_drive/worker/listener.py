"""Hints from other processes that something may be due."""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta

from geneva_drive.internal_backoff import InternalBackoff
from geneva_drive.storage.dialects.hints import Watch
from geneva_drive.worker.service import in_a_line

logger = logging.getLogger(__name__)

_RETRY_DELAY = InternalBackoff(timedelta(milliseconds=100), longest=timedelta(seconds=5))


class Listener:
    """Runs a watch on its own thread, and restarts it when its connection is lost."""

    name = "listening"

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="geneva-listening", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> None:
        self._stopping.set()
        self._watch.stop()
        self._thread.join(timeout)

    def _keep(self) -> None:
        try:
            self._run()
        finally:
            # Close it here: a thread that waits for a silent database outlives the worker.
            self._watch.close()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                self._watch.run()
            except Exception as error:  # noqa: BLE001 - the watch restarts after any error
                # Only hints are missed: the poller finds what is due.
                has_lasted = time.monotonic() - started > _RETRY_DELAY.longest.total_seconds()
                failures = 1 if has_lasted else failures + 1
                if failures == 1 and not self._stopping.is_set():
                    logger.warning("Listening for hints was interrupted: %s", in_a_line(error))
            else:
                return
            self._stopping.wait(_RETRY_DELAY.before(failures))
