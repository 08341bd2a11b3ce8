"""What ends a process: a worker politely at the first signal, others as by Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_STDERR = 2


class PoliteStop:
    """Asks for a stop at the first SIGTERM or SIGINT."""

    def __init__(
        self, request_stop: Callable[[], None], notice: str, *, is_supervised: bool = False
    ) -> None:
        self._request_stop = request_stop
        self._notice = notice
        # The system's own way for the second one: nothing of ours could hold it up. Beneath a
        # supervisor it is no wish to hurry: systemd sends the first to all processes, and the
        # supervisor passes on its own.
        self._at_second = signal.SIG_IGN if is_supervised else signal.SIG_DFL
        self.was_requested = False

    def install(self) -> None:
        for number in _SIGNALS:
            signal.signal(number, self._stop)

    def request(self) -> None:
        self.was_requested = True
        self._request_stop()

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - Python's signature
        for each in _SIGNALS:
            signal.signal(each, self._at_second)
        self.request()
        # A stream's lock may be held by the very line that this signal interrupted.
        os.write(_STDERR, f"{self._notice}\n".encode())


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Clean up as after Ctrl-C when the terminal is closed, or somebody ends the process."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - signal's shape
        raise KeyboardInterrupt

    wanted = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    former = {number: signal.signal(number, interrupt) for number in wanted}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
