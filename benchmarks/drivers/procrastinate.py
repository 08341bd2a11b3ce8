"""Procrastinate: a job per step, where each job defers the next one."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.drivers.driver import Finished, obey, play, say
from benchmarks.drivers.marks import Marks
from benchmarks.drivers.postgresql import Progress
from benchmarks.drivers.procrastinate_app import app, make_joins, root, step

CONCURRENCY = 30
# A notification that arrives while the worker fetches is forgotten; the next poll finds its job.
POLLING_INTERVAL = 0.01


class ProcrastinateDriver:
    """Defers the first job of each chain."""

    def __init__(self, _: Marks) -> None:
        self._progress = Progress(
            unfinished="SELECT 1 FROM procrastinate_jobs WHERE status IN ('todo', 'doing')",
            finished="SELECT count(*), (SELECT extract(epoch FROM max(at)) "
            "FROM procrastinate_events WHERE type = 'succeeded') "
            "FROM procrastinate_jobs WHERE status = 'succeeded' AND args @> '{\"remaining\": 0}'",
        )

    def start(self, steps: int, *, marked: bool) -> None:
        step.defer(remaining=steps - 1, marked=marked)

    def build_fan(self, nodes: int) -> Callable[[], object]:
        return lambda: root.defer(nodes=nodes)

    def is_busy(self) -> bool:
        return self._progress.is_busy()

    def finished(self) -> Finished:
        return self._progress.finished()


def prepare() -> None:
    with app.open():
        app.schema_manager.apply_schema()
    make_joins()


def work() -> None:
    say("ready")
    app.run_worker(
        concurrency=CONCURRENCY,
        listen_notify=True,
        fetch_job_polling_interval=POLLING_INTERVAL,
    )


def start() -> None:
    with app.open():
        obey(ProcrastinateDriver)


if __name__ == "__main__":
    play({"prepare": prepare, "work": work, "obey": start})
