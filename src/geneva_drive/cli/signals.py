"""What ends a process: a worker politely at the first signal, others as by Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_STDERR = 2


def stop_signals() -> list[signal.Signals]:
    """List what asks a process to end: also that its terminal was closed, unless it is not to mind.

    Beneath `nohup` it goes on.
    """
    wanted = [signal.SIGTERM, signal.SIGINT]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        wanted.append(signal.SIGHUP)
    return wanted


class PoliteStop:
    """Asks for a stop at the first signal that is to end the process."""

    def __init__(
        self, request_stop: Callable[[], None], notice: str, *, is_supervised: bool = False
    ) -> None:
        self._request_stop = request_stop
        self._notice = notice
        # The system's own way for the second one: nothing of ours could hold it up. Beneath a
        # supervisor it is no wish to hurry: systemd sends the first to all processes, and the
        # supervisor passes on its own.
        self._at_second = signal.SIG_IGN if is_supervised else signal.SIG_DFL
        self._signals = stop_signals()
        self.was_requested = False

    def install(self) -> None:
        for number in self._signals:
            signal.signal(number, self._stop)

    def request(self) -> None:
        self.was_requested = True
        self._request_stop()

    def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - Python's signature
        for each in self._signals:
            signal.signal(each, self._at_second)
        self.request()
        # A stream's lock may be held by the very line that this signal interrupted.
        os.write(_STDERR, f"{self._notice}\n".encode())


@contextmanager
def interrupted_by_signals() -> Iterator[Callable[[], None]]:
    """Give what raises `KeyboardInterrupt` once a signal has asked for the end.

    Raised by the handler itself it would be lost wherever Python swallows errors: in a finalizer,
    or in the callback of a weak reference. So long work calls this wherever it can stop. At the
    second signal the handler does raise: the work may hang between two calls.
    """
    was_asked = False

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's shape
        nonlocal was_asked
        if was_asked:
            raise KeyboardInterrupt
        was_asked = True

    def stop_if_asked() -> None:
        if was_asked:
            raise KeyboardInterrupt

    former = {number: signal.signal(number, interrupt) for number in stop_signals()}
    try:
        yield stop_if_asked
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
