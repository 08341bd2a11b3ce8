"""DBOS: workflows on a database-backed queue."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from dbos import DBOS, DBOSClient, DBOSConfig

from benchmarks.drivers.driver import Finished, obey, play, say
from benchmarks.drivers.marks import Marks, mark_begun
from benchmarks.drivers.postgresql import URL_VARIABLE, Progress

QUEUE = "bench"
VERSION = "bench"
WORKER_CONCURRENCY = 16
POLLING_INTERVAL = 0.01
CHECKPOINT_INTERVAL = 1_000


@DBOS.step()
def first_step(marked: bool) -> None:
    if marked:
        mark_begun()


@DBOS.step()
def next_step() -> None: ...


@DBOS.workflow()
def run_steps(steps: int, marked: bool) -> None:
    first_step(marked)
    for _ in range(steps - 1):
        next_step()


@DBOS.workflow()
def run_node() -> None: ...


@DBOS.workflow()
def run_fan(nodes: int) -> None:
    first_step(False)
    handles = [DBOS.enqueue_workflow(QUEUE, run_node) for _ in range(nodes)]
    for handle in handles:
        handle.get_result(polling_interval_sec=POLLING_INTERVAL)
    next_step()


@DBOS.step()
def add(start: int, end: int) -> int:
    total = 0
    for number in range(start, end):
        total += number
    return total


@DBOS.step()
def finish(sums: list[int], items: int) -> None:
    if sum(sums) != items * (items - 1) // 2:
        raise ValueError(f"The numbers below {items} do not add up to {sum(sums)}.")


@DBOS.workflow()
def run_part(start: int, end: int) -> int:
    """A step is what DBOS resumes after, so each checkpoint is one."""
    return sum(
        add(first, min(first + CHECKPOINT_INTERVAL, end))
        for first in range(start, end, CHECKPOINT_INTERVAL)
    )


@DBOS.workflow()
def run_batch(workers: int, items: int) -> None:
    size = items // workers
    handles = [
        DBOS.enqueue_workflow(QUEUE, run_part, start, start + size)
        for start in range(0, items, size)
    ]
    sums = [handle.get_result(polling_interval_sec=POLLING_INTERVAL) for handle in handles]
    finish(sums, items)


class DBOSDriver:
    """Starts workflows through the client of another process than the worker's."""

    fan: Callable[[int], object] = staticmethod(run_fan)
    batch: Callable[[int, int], object] = staticmethod(run_batch)

    def __init__(self, _: Marks) -> None:
        self._client = DBOSClient(system_database_url=os.environ[URL_VARIABLE])
        self._progress = Progress(
            unfinished="SELECT 1 FROM dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')",
            finished="SELECT count(*), max(updated_at) / 1000.0 FROM dbos.workflow_status "
            "WHERE status = 'SUCCESS' AND parent_workflow_id IS NULL",
        )

    def start(self, steps: int, *, marked: bool) -> None:
        self._enqueue(run_steps, steps, marked)

    def build_fan(self, nodes: int) -> Callable[[], object]:
        return lambda: self._enqueue(self.fan, nodes)

    def start_batch(self, workers: int, items: int, form: str) -> None:  # noqa: ARG002 - it has one
        self._enqueue(self.batch, workers, items)

    def _enqueue(self, workflow: Callable[..., object], *arguments: object) -> None:
        self._client.enqueue(
            {"workflow_name": workflow.__qualname__, "queue_name": QUEUE, "app_version": VERSION},
            *arguments,
        )

    def is_busy(self) -> bool:
        return self._progress.is_busy()

    def finished(self) -> Finished:
        return self._progress.finished()


def launch() -> None:
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": os.environ[URL_VARIABLE],
        "application_version": VERSION,
        "executor_id": str(os.getpid()),
        "log_level": "WARNING",
    }
    DBOS(config=config)
    DBOS.launch()
    DBOS.register_queue(
        QUEUE, worker_concurrency=WORKER_CONCURRENCY, polling_interval_sec=POLLING_INTERVAL
    )


def prepare() -> None:
    launch()
    DBOS.destroy()


def work() -> None:
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    launch()
    say("ready")
    stopping.wait()
    DBOS.destroy()


if __name__ == "__main__":
    play({"prepare": prepare, "work": work, "obey": lambda: obey(DBOSDriver)})
