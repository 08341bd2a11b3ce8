"""Processes of ours, spoken to through their input and output."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
TIME_LIMIT = 60.0
APP = ("-m", "tests.scenarios.app")
GENEVA = ("-c", "from geneva_drive.cli.main import main; main()")  # as the console script does
# A lease that a loaded machine can keep, and a scenario can wait for.
SETTINGS = {
    "GENEVA_LEASE": "2s",
    "GENEVA_HEARTBEAT_INTERVAL": "0.4s",
    "GENEVA_POLL_INTERVAL": "0.2s",
    "GENEVA_DRAIN_TIMEOUT": "20s",
    "GENEVA_MAX_RECOVERIES": "50",
}


class Process:
    """One running process on the test's database."""

    def __init__(
        self, database_url: str, *arguments: str, program: Sequence[str] = APP, **settings: str
    ) -> None:
        given = {f"GENEVA_{name.upper()}": value for name, value in settings.items()}
        self._process = subprocess.Popen(
            [sys.executable, *program, *arguments],
            cwd=ROOT,
            env={**os.environ, **SETTINGS, **given, "GENEVA_DATABASE_URL": database_url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._complaints: list[str] = []
        self._readers = [
            self._read(self._process.stdout, self._lines.put),
            self._read(self._process.stderr, self._complaints.append),
        ]

    @property
    def pid(self) -> int:
        return self._process.pid

    @staticmethod
    def _read(stream: IO[str] | None, take: Callable[[str], None]) -> threading.Thread:
        assert stream is not None

        def read() -> None:
            for line in stream:
                take(line.rstrip("\n"))

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    @property
    def complaints(self) -> str:
        """What the process has written to stderr."""
        return "\n".join(self._complaints)

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        try:
            return self._lines.get(timeout=TIME_LIMIT)
        except queue.Empty:
            raise AssertionError(f"No answer came in time. It said:\n{self.complaints}") from None

    def expect(self, line: str) -> None:
        found = self.answer()
        assert found == line, f"It said {found!r}, not {line!r}.\n{self.complaints}"

    def expect_start(self, of_line: str) -> None:
        found = self.answer()
        assert found.startswith(of_line), f"It said {found!r}.\n{self.complaints}"

    def kill(self) -> None:
        self._process.kill()
        self.wait()

    def terminate(self) -> int:
        """Ask it to stop, and give its exit code."""
        self._process.terminate()
        return self.wait()

    def suspend(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def wait(self) -> int:
        code = self._process.wait(TIME_LIMIT)
        for reader in self._readers:
            reader.join(TIME_LIMIT)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
        return code

    def clean_up(self) -> None:
        if self._process.stdout is not None and self._process.stdout.closed:
            return
        self.go_on()
        self.kill()


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Look again and again until a deadline."""
    deadline = time.monotonic() + TIME_LIMIT
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"Did not happen in time: {what}."
        pause.wait(0.02)
