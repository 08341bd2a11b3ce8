"""Celery: a chain of tasks through a broker; no step is recorded in a database."""

from __future__ import annotations

import os
from collections.abc import Callable

from celery import Celery, chain, chord, signals
from redis import Redis

from benchmarks.drivers.driver import Finished, obey, play, say
from benchmarks.drivers.marks import Marks, mark_begun, mark_ended
from benchmarks.drivers.postgresql import URL_VARIABLE

QUEUE = os.environ["GENEVA_BENCH_QUEUE"]

app = Celery("bench", broker=os.environ[URL_VARIABLE], backend=os.environ["GENEVA_BENCH_RESULTS"])
app.conf.update(
    task_ignore_result=True,
    task_default_queue=QUEUE,
    result_backend_transport_options={"global_keyprefix": QUEUE},
    worker_prefetch_multiplier=64,
    worker_redirect_stdouts=False,
)


@app.task
def first_step(marked: bool) -> None:
    if marked:
        mark_begun()


@app.task
def next_step() -> None: ...


@app.task
def last_step() -> None:
    mark_ended()


@app.task
def only_step(marked: bool) -> None:
    first_step(marked)
    last_step()


@app.task(ignore_result=False)
def run_node() -> None:
    """A chord is counted by the results of its tasks."""


@app.task
def run_fan(nodes: int) -> None:
    chord(run_node.si() for _ in range(nodes))(last_step.si())


@app.task(ignore_result=False)
def add(start: int, end: int) -> int:
    total = 0
    for number in range(start, end):
        total += number
    return total


@app.task
def finish(sums: list[int], items: int) -> None:
    if sum(sums) != items * (items - 1) // 2:
        raise ValueError(f"The numbers below {items} do not add up to {sum(sums)}.")
    mark_ended()


@app.task
def run_batch(workers: int, items: int) -> None:
    size = items // workers
    chord(add.si(start, start + size) for start in range(0, items, size))(finish.s(items))


class CeleryDriver:
    """Sends chains; the last body of each says that it ran, as nothing else remembers it."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._sent_count = 0

    def start(self, steps: int, *, marked: bool) -> None:
        self._sent_count += 1
        if steps == 1:
            only_step.delay(marked)
            return
        between = [next_step.si() for _ in range(steps - 2)]
        chain(first_step.si(marked), *between, last_step.si()).apply_async()

    def build_fan(self, nodes: int) -> Callable[[], object]:
        self._sent_count += 1
        return lambda: run_fan.delay(nodes)

    def start_batch(self, workers: int, items: int, form: str) -> None:  # noqa: ARG002 - it has one
        self._sent_count += 1
        run_batch.delay(workers, items)

    def is_busy(self) -> bool:
        self._marks.take_in()
        return self._marks.ended_count < self._sent_count

    def finished(self) -> Finished:
        return Finished(count=self._marks.ended_count, last_at=self._marks.last_ended_at)


@signals.worker_ready.connect  # type: ignore[untyped-decorator]
def say_ready(**_: object) -> None:
    say("ready")


def work() -> None:
    app.worker_main(
        [
            "worker",
            "--pool=prefork",
            "--concurrency=1",
            # Two workers of one name would fight over their control queue.
            f"--hostname=bench-{os.getpid()}@%h",
            "--loglevel=WARNING",
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
        ]
    )


def clean_up() -> None:
    with app.connection() as connection:
        connection.default_channel.queue_delete(QUEUE)
        if connection.transport.driver_type == "redis":
            # What it notes about a queue outlives the queue.
            forget(connection.default_channel.client)
    forget(app.backend.client)


def forget(client: Redis) -> None:
    """Delete what was kept about this queue, and the results that chords were counted by."""
    for key in client.scan_iter(f"*{QUEUE}*"):
        client.delete(key)


if __name__ == "__main__":
    play({"work": work, "obey": lambda: obey(CeleryDriver), "clean_up": clean_up})
