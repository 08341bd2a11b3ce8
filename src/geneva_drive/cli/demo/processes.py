"""The worker processes of the demo: `geneva worker`, started and killed by the demo."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from geneva_drive.cli.processes.lifeline import Lifeline

_APP = "geneva_drive.cli.demo.workflows"
_PROGRAM = "from geneva_drive.cli.main import main; main()"
_SECONDS_TO_END = 5
_TAIL_LINES = 20


@dataclass(slots=True)
class WorkerProcess:
    """A worker process; the screen calls it A, B, ..."""

    label: str
    process: subprocess.Popen[bytes]
    was_killed: bool = False

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        """Send SIGKILL, and return when the process is gone."""
        self.was_killed = True
        self.process.kill()
        self.process.wait()


class WorkerProcesses:
    """All worker processes of one demo; they also end when the demo itself dies."""

    def __init__(self, folder: Path, database_url: str, settings: Mapping[str, str]) -> None:
        self.all: list[WorkerProcess] = []
        self._folder = folder
        self.log = folder / "workers.log"
        self._lifeline = Lifeline()
        # Leave out the user's own settings, so that above all their database stays untouched.
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith("GENEVA_")}
        given = {**settings, "database_url": database_url, "app": _APP}
        self._environment |= {f"GENEVA_{name.upper()}": value for name, value in given.items()}

    def start(self, label: str, concurrency: int = 4) -> WorkerProcess:
        lifeline = self._lifeline.handed_down
        options = ["--concurrency", str(concurrency), "--lifeline", str(lifeline)]
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                # -P and the folder: no file of the user's directory can replace an import.
                [sys.executable, "-P", "-c", _PROGRAM, "worker", *options],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                pass_fds=[lifeline],
                process_group=0,  # Ctrl-C reaches the demo alone, which ends its workers
            )
        self.all.append(WorkerProcess(label, process))
        return self.all[-1]

    def labels_by_pid(self) -> dict[int, str]:
        return {worker.pid: worker.label for worker in self.all}

    @contextmanager
    def stopped(self, label: str) -> Iterator[WorkerProcess]:
        """Suspend a worker for the length of the block, unless it is killed inside."""
        [worker] = [worker for worker in self.all if worker.label == label]
        worker.process.send_signal(signal.SIGSTOP)
        os.waitpid(worker.pid, os.WUNTRACED)  # the signal takes effect a little later
        try:
            yield worker
        finally:
            worker.process.send_signal(signal.SIGCONT)

    def unexpected_end(self) -> WorkerProcess | None:
        """Return a worker that ended without being killed by the demo."""
        ended = (w for w in self.all if not w.was_killed and w.process.poll() is not None)
        return next(ended, None)

    def log_tail(self) -> list[str]:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return text.splitlines()[-_TAIL_LINES:]

    def close(self) -> None:
        """End all processes: politely at first, then by force."""
        self._lifeline.close()
        for worker in self.all:
            worker.process.terminate()
        for worker in self.all:
            try:
                worker.process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                worker.kill()
