"""Absurd: tasks with checkpointed steps, tables by `absurdctl`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from absurd_sdk import Absurd, TaskContext

from benchmarks.drivers.driver import Finished, obey, play, say
from benchmarks.drivers.marks import Marks, mark_begun
from benchmarks.drivers.postgresql import URL_VARIABLE, Progress

QUEUE = "bench"
TASK = "run-steps"
CONCURRENCY = 8
POLL_INTERVAL = 0.01


def first_step() -> None: ...


def next_step() -> None: ...


def run_steps(params: dict[str, Any], context: TaskContext) -> None:
    context.step("first", mark_begun if params["marked"] else first_step)
    for _ in range(params["steps"] - 1):
        context.step("next", next_step)


class AbsurdDriver:
    """Spawns tasks; a client holds one connection, so that each thread has its own."""

    def __init__(self, _: Marks) -> None:
        self._local = threading.local()
        self._progress = Progress(
            unfinished=f"SELECT 1 FROM absurd.t_{QUEUE} "
            "WHERE state NOT IN ('completed', 'failed', 'cancelled')",
            finished=f"SELECT count(*), extract(epoch FROM max(completed_at)) "
            f"FROM absurd.r_{QUEUE} WHERE state = 'completed'",
        )

    def start(self, steps: int, *, marked: bool) -> None:
        if not hasattr(self._local, "client"):
            self._local.client = open_client()
        self._local.client.spawn(TASK, {"steps": steps, "marked": marked}, queue=QUEUE)

    def is_busy(self) -> bool:
        return self._progress.is_busy()

    def finished(self) -> Finished:
        return self._progress.finished()


def open_client() -> Absurd:
    return Absurd(os.environ[URL_VARIABLE], queue_name=QUEUE)


def prepare() -> None:
    control = str(Path(sys.executable).with_name("absurdctl"))
    for command in (["init"], ["create-queue", QUEUE]):
        subprocess.run(
            [control, command[0], "-d", os.environ[URL_VARIABLE], *command[1:]],
            check=True,
            stdout=sys.stderr,
        )


def work() -> None:
    app = open_client()
    app.register_task(TASK)(run_steps)
    signal.signal(signal.SIGTERM, lambda *_: app.stop_worker())
    say("ready")
    app.start_worker(concurrency=CONCURRENCY, poll_interval=POLL_INTERVAL)
    app.close()


if __name__ == "__main__":
    play({"prepare": prepare, "work": work, "obey": lambda: obey(AbsurdDriver)})
