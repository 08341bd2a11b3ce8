"""Signals that end a worker: the first politely, the second at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_STDERR = 2


class PoliteStop:
    """Asks for a stop at the first SIGTERM or SIGINT."""

    def __init__(self, request_stop: Callable[[], None], notice: str) -> None:
        self._request_stop = request_stop
        self._notice = notice
        self.was_requested = False

    def install(self) -> None:
        for number in _SIGNALS:
            signal.signal(number, self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - Python's signature
        # The system's own way for the second one: nothing of ours could hold it up.
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        self.was_requested = True
        self._request_stop()
        # A stream's lock may be held by the very line that this signal interrupted.
        os.write(_STDERR, f"{self._notice}\n".encode())
