"""Hearing from other processes that something may be due."""

from __future__ import annotations

import logging
import threading
import time

from geneva_drive.storage.dialects.hints import Watch
from geneva_drive.worker.service import in_a_line

logger = logging.getLogger(__name__)

_FIRST_REST, _LONGEST_REST = 0.1, 5.0  # seconds between two tries


class Listening:
    """Keeps a watch on a thread of its own, and begins anew when its connection is lost."""

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
            # Here, as a thread that waits for a silent database outlives the worker.
            self._watch.close()

    def _run(self) -> None:
        rest = _FIRST_REST
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                self._watch.run()
            except Exception as error:  # noqa: BLE001 - whatever it was, it begins anew
                # Only hints are missed: what is due is found by polling meanwhile.
                if not self._stopping.is_set():
                    logger.warning("Listening for hints was interrupted: %s", in_a_line(error))
            else:
                return
            lasted = time.monotonic() - started > _LONGEST_REST
            rest = _FIRST_REST if lasted else min(rest * 2, _LONGEST_REST)
            self._stopping.wait(rest)
