"""The socket between the supervisor and its worker processes.

A worker writes when it starts to serve. The supervisor writes nothing: when it dies, even by
SIGKILL, its end closes, and the workers stop.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

_SERVES = b"."


class Lifeline:
    """Both ends of the socket, in the supervisor."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()

    @property
    def handed_down(self) -> int:
        """The file descriptor that worker processes inherit."""
        return self._theirs.fileno()

    def close(self) -> None:
        """Close both ends, which asks all workers to stop."""
        self._ours.close()
        self._theirs.close()

    def listen(self, on_serving: Callable[[], None]) -> None:
        """Call `on_serving` on a thread for each worker that starts to serve."""

        def receive() -> None:
            while self._ours.recv(1):
                on_serving()

        threading.Thread(target=receive, name="geneva-lifeline", daemon=True).start()


def hold(descriptor: int, on_loss: Callable[[], None]) -> None:
    """In a worker process, report that it serves; call `on_loss` when the supervisor dies."""
    # The descriptor stays open and inheritable, for the process that may replace this one.
    line = socket.socket(fileno=descriptor)

    def wait() -> None:
        # If the supervisor died with bytes unread, `recv` raises instead of returning nothing.
        with contextlib.suppress(ConnectionError):
            line.sendall(_SERVES)
            while line.recv(1):
                pass
        on_loss()

    threading.Thread(target=wait, name="geneva-lifeline", daemon=True).start()
