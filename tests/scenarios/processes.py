"""Processes of ours, spoken to through their input and output."""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from typing import IO

from tests.scenarios.nursery import fork

TIME_LIMIT = 200.0
APP = "tests.scenarios.app"
GENEVA = "tests.scenarios.geneva"
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
        self, database_url: str, *arguments: str, program: str = APP, **settings: str
    ) -> None:
        given = {f"GENEVA_{name.upper()}": value for name, value in settings.items()}
        at = {"GENEVA_DATABASE_URL": database_url}
        self._forked = fork(program, arguments, {**os.environ, **SETTINGS, **given, **at})
        self._process = self._forked.process
        self._lines: queue.Queue[str] = queue.Queue()
        self._complaints: list[str] = []
        self._readers = [
            self._read(self._forked.stdout, self._lines.put),
            self._read(self._forked.stderr, self._complaints.append),
        ]

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @staticmethod
    def _read(stream: IO[str], take: Callable[[str], None]) -> threading.Thread:
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
        self._forked.stdin.write(f"{line}\n")
        self._forked.stdin.flush()

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

    def kill(self) -> int:
        """Give what ended it: its own exit code, if it had ended before."""
        self._process.kill()
        return self.wait()

    def terminate(self) -> int:
        """Ask it to stop, and give its exit code."""
        self._process.terminate()
        return self.wait()

    def suspend(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def wait(self) -> int:
        self._process.join(TIME_LIMIT)
        code = self._process.exitcode
        assert code is not None, f"It did not end in time. It said:\n{self.complaints}"
        for reader in self._readers:
            reader.join(TIME_LIMIT)
        for stream in (self._forked.stdin, self._forked.stdout, self._forked.stderr):
            stream.close()
        self._process.close()
        return code

    def clean_up(self) -> None:
        if self._forked.stdout.closed:
            return
        self.go_on()
        self.kill()


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Look again and again until a deadline."""
    deadline = time.monotonic() + TIME_LIMIT
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"Did not happen in time: {what}."
        pause.wait(0.05)  # each look costs the workers some of the machine
