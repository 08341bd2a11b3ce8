"""What the programs of scenarios share: output, notes, and a worker that can be stopped."""

from __future__ import annotations

import os
import signal
import sys
from functools import cache
from pathlib import Path
from types import FrameType

import geneva_drive as gd
from geneva_drive.worker.worker import Worker

FOLDER = "GENEVA_SCENARIO_NOTES"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@cache
def notes() -> int:
    """Open this process's own file; what is written to it is there, however the process ends."""
    path = Path(os.environ[FOLDER]) / str(os.getpid())
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def stop_at_sigterm(worker: Worker) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        worker.request_stop()

    signal.signal(signal.SIGTERM, stop)


def work(concurrency: int) -> None:
    """Run a worker until SIGTERM."""
    worker = gd.configure().worker(concurrency=concurrency)
    stop_at_sigterm(worker)
    worker.run()
