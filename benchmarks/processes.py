"""Processes of the systems, spoken to in lines."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
TIME_LIMIT = 900.0
STOP_LIMIT = 3.0
_SHOWN_LINES = 12


class ProcessFailed(Exception):
    """A process of a system ended, or kept silent; with what it wrote last."""

    def __init__(self, name: str, what: str, complaints: str) -> None:
        last = "\n".join(complaints.strip().splitlines()[-_SHOWN_LINES:])
        super().__init__(f"{name} {what}." + (f" It wrote:\n{last}" if last else ""))


class Process:
    """One running process, in a group of its own so that its children end with it."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by stop()
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            start_new_session=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=[self._process.stdout], daemon=True)
        self._reader.start()

    @property
    def id(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def ask(self, question: Mapping[str, Any], beside: Sequence[Process]) -> Any:
        """Send a line and wait for its answer, as long as the processes beside it live."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self.next_line(beside))

    def next_line(self, beside: Sequence[Process] = ()) -> str:
        deadline = time.monotonic() + TIME_LIMIT
        while time.monotonic() < deadline:
            for other in beside:
                if other.has_ended:
                    raise other.failed("ended")
            try:
                line = self._lines.get(timeout=0.5)
            except queue.Empty:
                continue
            if line is None:
                raise self.failed("ended")
            return line
        raise self.failed(f"kept silent for {TIME_LIMIT:.0f} s")

    def failed(self, what: str) -> ProcessFailed:
        self._complaints.seek(0)
        return ProcessFailed(self.name, what, self._complaints.read())

    def stop(self) -> None:
        """Ask it to stop; after a while end it and its children."""
        self._process.terminate()
        try:
            self._process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._reader.join(STOP_LIMIT)
        for stream in (self._process.stdin, self._process.stdout, self._complaints):
            assert stream is not None
            stream.close()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)


def run(name: str, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a process to its end; give what it wrote."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    if done.returncode:
        raise ProcessFailed(name, f"ended with code {done.returncode}", done.stderr)
    return done.stdout
