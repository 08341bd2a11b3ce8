"""The supervisor of `geneva worker --processes`: starts, replaces and stops worker processes."""

from __future__ import annotations

import logging
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import FrameType
from typing import assert_never

from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.processes.lifeline import Lifeline
from geneva_drive.cli.processes.signals import stop_signals
from geneva_drive.durations import describe
from geneva_drive.internal_backoff import InternalBackoff

logger = logging.getLogger(__name__)

_RESTART_DELAY = InternalBackoff(timedelta(seconds=1), longest=timedelta(seconds=30))
_SETTLED = timedelta(seconds=30)  # a process that lives longer has started well


@dataclass(slots=True, eq=False)
class _Slot:
    """One of the N processes; a dead one is replaced in its slot."""

    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float | None = None  # when the next process starts in this slot
    quick_deaths: int = 0


@dataclass(frozen=True, slots=True)
class _Ended:
    slot: _Slot
    status: int


@dataclass(frozen=True, slots=True)
class _Serves:
    """A worker process has started to serve."""


@dataclass(frozen=True, slots=True)
class _Signalled:
    number: int


_Message = _Ended | _Serves | _Signalled


class Supervisor:
    """Keeps N processes of one command running until a signal.

    The first signal stops them gracefully, the second kills them. If the supervisor itself is
    killed, its lifeline closes, and the processes stop gracefully.
    """

    def __init__(self, command: Sequence[str], count: int) -> None:
        self._lifeline = Lifeline()
        self._command = [*command, "--lifeline", str(self._lifeline.handed_down)]
        self._slots = [_Slot() for _ in range(count)]
        # A SimpleQueue is reentrant: a signal handler may put while its own thread is in `get`.
        self._messages: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._is_serving = False
        self._is_stopping = False
        self._exit_code: int = ExitCode.OK

    def run(self) -> int:
        """Run until a signal, or until the first process reports that it cannot start."""
        for number in stop_signals():
            signal.signal(number, self._note_signal)
        self._lifeline.listen(lambda: self._messages.put(_Serves()))
        # One process starts first, so that a broken app is reported once, not N times.
        self._slots[0].start_at = time.monotonic()
        self._start_due()
        while any(slot.process or slot.start_at is not None for slot in self._slots):
            self._receive()
            self._start_due()
        return self._exit_code

    def _note_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - Python's signature
        self._messages.put(_Signalled(number))

    def _receive(self) -> None:
        starts = [slot.start_at for slot in self._slots if slot.start_at is not None]
        delay = max(0.0, min(starts) - time.monotonic()) if starts else None
        try:
            message = self._messages.get(timeout=delay)
        except queue.Empty:
            return
        match message:
            case _Serves():
                self._start_all()
            case _Signalled(number):
                self._stop(number)
            case _Ended(slot, status):
                self._note_end(slot, status)
            case _:
                assert_never(message)

    def _start_all(self) -> None:
        if self._is_serving or self._is_stopping:
            return
        self._is_serving = True
        for slot in self._slots[1:]:
            slot.start_at = time.monotonic()

    def _start_due(self) -> None:
        for slot in self._slots:
            if slot.start_at is not None and slot.start_at <= time.monotonic():
                self._start(slot)

    def _start(self, slot: _Slot) -> None:
        # Its own process group: Ctrl-C reaches only the supervisor, which passes it on once. No
        # input: a process that reads from the terminal would wait forever.
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            pass_fds=[self._lifeline.handed_down],
            process_group=0,
        )
        slot.process, slot.started_at, slot.start_at = process, time.monotonic(), None
        threading.Thread(
            target=lambda: self._messages.put(_Ended(slot, process.wait())), daemon=True
        ).start()

    def _note_end(self, slot: _Slot, status: int) -> None:
        assert slot.process is not None, "only a process ends"
        process_id, slot.process = slot.process.pid, None
        words = f"Worker process {process_id} {describe_status(status)}"
        if self._is_stopping:
            # A process killed before it installed its handlers held no work.
            if status not in (0, -signal.SIGTERM):
                logger.warning("%s while stopping", words)
                self._exit_code = self._exit_code or ExitCode.UNEXPECTED
        elif status == ExitCode.USAGE and not self._is_serving:
            logger.error("%s and would fail again; no worker process is started", words)
            self._exit_code = status
        else:
            delay = self._delay_for(slot)
            logger.warning("%s; another starts in %s", words, describe(delay))
            slot.start_at = time.monotonic() + delay.total_seconds()

    def _delay_for(self, slot: _Slot) -> timedelta:
        lived = timedelta(seconds=time.monotonic() - slot.started_at)
        slot.quick_deaths = 1 if lived >= _SETTLED else slot.quick_deaths + 1
        return restart_delay(slot.quick_deaths)

    def _stop(self, number: int) -> None:
        if self._is_stopping:
            self._kill(number)
        self._is_stopping = True
        for slot in self._slots:
            slot.start_at = None
        running = [slot.process for slot in self._slots if slot.process]
        for process in running:
            process.terminate()
        logger.info(
            "Stopping %s: running steps may finish. A second signal kills them",
            _number(len(running)),
        )

    def _kill(self, number: int) -> None:
        for slot in self._slots:
            if slot.process:
                slot.process.kill()
        # Die by the same signal, as a worker does, so that the caller sees which one it was.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def restart_delay(quick_deaths: int) -> timedelta:
    """Return the wait before a process is replaced; it doubles with each quick death."""
    return timedelta(seconds=_RESTART_DELAY.before(quick_deaths))


def describe_status(status: int) -> str:
    """Describe an exit status as `Popen` returns it."""
    if status >= 0:
        return f"ended with exit code {status}"
    return f"was killed by signal {-status} ({signal.strsignal(-status)})"


def _number(count: int) -> str:
    return f"{count} worker process" if count == 1 else f"{count} worker processes"
