"""Signals that end a process: gracefully for a worker, like Ctrl-C for other commands."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_STDERR = 2


def stop_signals() -> list[signal.Signals]:
    """Return the signals that ask the process to end; SIGHUP too, unless `nohup` ignores it."""
    wanted = [signal.SIGTERM, signal.SIGINT]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        wanted.append(signal.SIGHUP)
    return wanted


class PoliteStop:
    """Requests a graceful stop at the first signal."""

    def __init__(
        self,
        request_stop: Callable[[], None],
        notice: str | None,
        *,
        is_supervised: bool = False,
    ) -> None:
        self._request_stop = request_stop
        self._notice = notice
        # The second signal kills the process by the system's default action, which none of our code
        # can delay. Under a supervisor it is ignored: systemd signals all processes, and the
        # supervisor passes the same signal on, so a second one does not mean "hurry".
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
        if self._notice is not None:
            # Not a stream: the interrupted code may hold the lock of stderr.
            os.write(_STDERR, f"{self._notice}\n".encode())


@contextmanager
def interrupted_by_signals() -> Iterator[Callable[[], None]]:
    """Yield a function that raises `KeyboardInterrupt` after a signal.

    Long work calls it wherever it can stop. An exception raised by the handler would be lost where
    Python swallows errors, in finalizers and weak reference callbacks. At the second signal the
    handler raises nevertheless, because the work may hang between two calls.
    """
    was_asked = False

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's signature
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
