"""Moments that a step tells to the process that started its workflow, past any database."""

from __future__ import annotations

import os
import socket
import struct
import tempfile
import time
from pathlib import Path
from types import TracebackType

ADDRESS_VARIABLE = "GENEVA_BENCH_MARKS"
BEGUN = b"b"
ENDED = b"e"
_FORM = struct.Struct("cd")
_TIME_LIMIT = 120.0


class _Sender:
    """One socket per process, made when first needed: a pool may fork before."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._process_id = 0

    def send(self, kind: bytes) -> None:
        now = time.time()
        if self._socket is None or self._process_id != os.getpid():
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._process_id = os.getpid()
        self._socket.sendto(_FORM.pack(kind, now), os.environ[ADDRESS_VARIABLE])


_sender = _Sender()


def mark_begun() -> None:
    """Tell that the first body of a workflow runs now."""
    _sender.send(BEGUN)


def mark_ended() -> None:
    """Tell that the last body of a workflow runs now."""
    _sender.send(ENDED)


class Marks:
    """The receiving end, at the address that the environment names."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(os.environ[ADDRESS_VARIABLE])
        self.ended_count = 0
        self.last_ended_at = 0.0

    def __enter__(self) -> Marks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def wait_for_begun(self) -> float:
        """Wait until a first body runs, and give the moment it did."""
        self._socket.settimeout(_TIME_LIMIT)
        while True:
            kind, at = self._receive()
            if kind == BEGUN:
                return at

    def take_in(self) -> None:
        """Count what has arrived, without waiting."""
        self._socket.settimeout(0.0)
        try:
            while True:
                self._receive()
        except BlockingIOError:
            return

    def _receive(self) -> tuple[bytes, float]:
        kind, at = _FORM.unpack(self._socket.recv(_FORM.size))
        if kind == ENDED:
            self.ended_count += 1
            self.last_ended_at = max(self.last_ended_at, at)
        return kind, at


def new_address() -> str:
    """A short path of its own: the address of such a socket may have about a hundred bytes."""
    return str(Path(tempfile.mkdtemp(prefix="geneva-bench-")) / "marks")
