"""What ties worker processes to their supervisor: each side learns when the other needs to know.

A worker says that it serves. The supervisor says nothing: the end of its side, which comes with its
own end however it died, asks the workers to stop.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

_SERVES = b"."


class Lifeline:
    """The supervisor's side, and the one that it hands down to every worker process."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()

    @property
    def handed_down(self) -> int:
        """The file descriptor that worker processes inherit."""
        return self._theirs.fileno()

    def listen(self, on_serving: Callable[[], None]) -> None:
        """Call `on_serving` for each worker that says so, on a thread of its own."""

        def hear() -> None:
            while self._ours.recv(1):
                on_serving()

        threading.Thread(target=hear, name="geneva-lifeline", daemon=True).start()


def hold(descriptor: int, on_loss: Callable[[], None]) -> None:
    """As a worker process, say that it serves, and call `on_loss` when the supervisor is gone."""
    # The descriptor stays open and inheritable for the process that may start anew in our place.
    line = socket.socket(fileno=descriptor)

    def wait() -> None:
        # A supervisor that died before it heard us leaves an error in place of an end.
        with contextlib.suppress(ConnectionError):
            line.sendall(_SERVES)
            while line.recv(1):
                pass
        on_loss()

    threading.Thread(target=wait, name="geneva-lifeline", daemon=True).start()
