"""The demo's worker processes: started, killed, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_PATIENCE_SECONDS = 5
_TAIL_LINES = 20


@dataclass(slots=True)
class WorkerProcess:
    """A process of its own, called A, B, ... on the screen."""

    label: str
    process: subprocess.Popen[bytes]
    was_killed: bool = False

    @property
    def pid(self) -> int:
        return self.process.pid


class Crew:
    """All worker processes of one demo; leaving the block ends them."""

    def __init__(self, database_url: str, settings: Mapping[str, str], log: Path) -> None:
        self.workers: list[WorkerProcess] = []
        self._environment = _environment(database_url, settings)
        self._log = log

    def start(self, label: str) -> WorkerProcess:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                # -P: a file of the current directory must not stand in for one of our imports.
                [sys.executable, "-P", "-m", "geneva_drive.cli.demo.worker"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
            )
        worker = WorkerProcess(label, process)
        self.workers.append(worker)
        return worker

    @contextmanager
    def stopped(self, label: str) -> Iterator[None]:
        """Keep a worker where it stands for the length of the block, unless it is killed in it."""
        process = self._find(label).process
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)  # which does nothing to one that is gone

    def kill(self, label: str) -> WorkerProcess:
        """Send SIGKILL and return when the process is gone."""
        worker = self._find(label)
        worker.was_killed = True
        worker.process.kill()
        worker.process.wait()
        return worker

    def _find(self, label: str) -> WorkerProcess:
        [worker] = [worker for worker in self.workers if worker.label == label]
        return worker

    def lost(self) -> WorkerProcess | None:
        """Give a worker that ended without being killed, if there is one."""
        ended = (w for w in self.workers if not w.was_killed and w.process.poll() is not None)
        return next(ended, None)

    def stop(self) -> None:
        """End the processes, politely for as long as patience lasts."""
        for worker in self.workers:
            assert worker.process.stdin is not None, "it was opened as a pipe"
            worker.process.stdin.close()
        for worker in self.workers:
            try:
                worker.process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()

    def log_tail(self) -> list[str]:
        if not self._log.exists():
            return []
        return self._log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def _environment(database_url: str, settings: Mapping[str, str]) -> dict[str, str]:
    # The user's own settings, and above all their database, are none of the demo's business.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("GENEVA_")}
    given = {f"GENEVA_{name.upper()}": value for name, value in settings.items()}
    return {**inherited, "GENEVA_DATABASE_URL": database_url, **given}
