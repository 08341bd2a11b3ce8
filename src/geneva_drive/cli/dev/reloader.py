"""The parent process of `geneva dev`: restarts its child when a file changes."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import assert_never

import click

from geneva_drive.cli.dev.watched_files import changed, read_stamps
from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.processes.lifeline import Lifeline
from geneva_drive.cli.processes.signals import stop_signals
from geneva_drive.cli.processes.supervisor import describe_status, restart_delay
from geneva_drive.durations import describe

_SCAN_EVERY = 0.3  # seconds
_PAUSE_PER_SCAN = 10  # so that scanning very many files takes at most a tenth of the time
# The child's exit codes that call for a change of the code.
_FAULTS_OF_CODE = (ExitCode.USAGE, ExitCode.UNEXPECTED)
_KILLED_AFTER = 15.0  # seconds that a child has to stop


@dataclass(frozen=True, slots=True)
class _Ended:
    process: subprocess.Popen[bytes]
    status: int


@dataclass(frozen=True, slots=True)
class _Serves:
    """The child has started to serve."""


@dataclass(frozen=True, slots=True)
class _Changed:
    paths: Sequence[Path]


@dataclass(frozen=True, slots=True)
class _Signalled:
    number: int


_Message = _Ended | _Serves | _Changed | _Signalled


class Reloader:
    """Keeps one child running until a signal, and replaces it when a watched file changes.

    The parent holds the listening socket: while no child runs, requests wait in its backlog.
    """

    def __init__(
        self,
        command: Sequence[str],
        listening: socket.socket,
        roots: Sequence[Path],
        *,
        environment: Mapping[str, str],
        on_first_service: str,
    ) -> None:
        self._lifeline = Lifeline()
        self._handed_down = [self._lifeline.handed_down, listening.fileno()]
        descriptors = zip(("--lifeline", "--socket"), map(str, self._handed_down), strict=True)
        self._command = [*command, *(word for pair in descriptors for word in pair)]
        self._roots = roots
        self._environment = environment
        self._notice: str | None = on_first_service
        # A SimpleQueue is reentrant: a signal handler may put while its own thread is in `get`.
        self._messages: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._child: subprocess.Popen[bytes] | None = None
        self._start_at: float | None = None
        self._quick_deaths = 0
        self._is_reloading = False
        self._is_stopping = False

    def run(self) -> int:
        """Run until a signal."""
        for number in stop_signals():
            signal.signal(number, self._note_signal)
        self._lifeline.listen(lambda: self._messages.put(_Serves()))
        threading.Thread(target=self._watch, name="geneva-files", daemon=True).start()
        self._start()
        while not self._is_stopping or self._child is not None:
            self._receive()
        return ExitCode.OK

    def _watch(self) -> None:
        seen, pause = read_stamps(self._roots), threading.Event()
        while True:
            began = time.monotonic()
            now = read_stamps(self._roots)
            if paths := changed(seen, now):
                self._messages.put(_Changed(paths))
            seen = now
            pause.wait(max(_SCAN_EVERY, (time.monotonic() - began) * _PAUSE_PER_SCAN))

    def _note_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - Python's signature
        self._messages.put(_Signalled(number))

    def _receive(self) -> None:
        delay = None if self._start_at is None else max(0.0, self._start_at - time.monotonic())
        try:
            message = self._messages.get(timeout=delay)
        except queue.Empty:
            self._start()
            return
        match message:
            case _Serves():
                self._note_service()
            case _Changed(paths):
                self._reload(paths)
            case _Signalled(number):
                self._stop(number)
            case _Ended(process, status):
                if process is self._child:
                    self._note_end(status)
            case _:
                assert_never(message)

    def _start(self) -> None:
        self._start_at = None
        # Its own process group: Ctrl-C reaches only the parent, which passes it on once.
        child = self._child = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            pass_fds=self._handed_down,
            process_group=0,
            env=self._environment,
        )
        threading.Thread(
            target=lambda: self._messages.put(_Ended(child, child.wait())), daemon=True
        ).start()

    def _note_service(self) -> None:
        self._quick_deaths = 0
        click.echo(self._notice or "Reloaded.")
        self._notice = None

    def _reload(self, paths: Sequence[Path]) -> None:
        if self._is_stopping:
            return
        others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        click.echo(f"{_shown(paths[0])}{others} changed: reloading ...")
        self._quick_deaths = 0
        if self._child is None:
            self._start()
        elif not self._is_reloading:
            self._is_reloading = True
            self._terminate(self._child)

    def _note_end(self, status: int) -> None:
        self._child = None
        if self._is_stopping:
            return
        if self._is_reloading:
            self._is_reloading = False
            self._start()
        elif status in _FAULTS_OF_CODE:
            click.echo("Waiting for a change to the code ...")
        elif status == ExitCode.OK:
            self._start()  # the child asked for it
        else:
            self._start_later(status)

    def _start_later(self, status: int) -> None:
        self._quick_deaths += 1
        delay: timedelta = restart_delay(self._quick_deaths)
        click.echo(f"The server {describe_status(status)}; it starts again in {describe(delay)}.")
        self._start_at = time.monotonic() + delay.total_seconds()

    def _stop(self, number: int) -> None:
        self._start_at = None
        if self._is_stopping:
            self._kill(number)
        self._is_stopping = True
        if self._child is not None:
            self._terminate(self._child)

    def _terminate(self, child: subprocess.Popen[bytes]) -> None:
        child.terminate()
        # Steps that hang, or code that ignores the signal, must not hold up the developer.
        timer = threading.Timer(_KILLED_AFTER, child.kill)
        timer.daemon = True
        timer.start()

    def _kill(self, number: int) -> None:
        if self._child is not None:
            self._child.kill()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _shown(path: Path) -> str:
    folder = Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)
