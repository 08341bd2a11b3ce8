"""Absurd: tasks with checkpointed steps, tables by `absurdctl`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from absurd_sdk import Absurd, TaskContext

from benchmarks.drivers.driver import Finished, obey, play, say
from benchmarks.drivers.marks import Marks, mark_begun
from benchmarks.drivers.postgresql import URL_VARIABLE, Progress

QUEUE = "bench"
NODES_QUEUE = "nodes"  # a task may wait for tasks of another queue only
TASK = "run-steps"
FAN_TASK = "run-fan"
NODE_TASK = "run-node"
CONCURRENCY = 8
POLL_INTERVAL = 0.01


def first_step() -> None: ...


def next_step() -> None: ...


def run_steps(params: dict[str, Any], context: TaskContext) -> None:
    context.step("first", mark_begun if params["marked"] else first_step)
    for _ in range(params["steps"] - 1):
        context.step("next", next_step)


def run_fan(params: dict[str, Any], context: TaskContext) -> None:
    context.step("root", next_step)
    serve_nodes()
    # Not the connection on which the nodes are claimed and run.
    client = open_client(NODES_QUEUE)
    spawned = context.step(
        "spawn",
        lambda: [
            str(client.spawn(NODE_TASK, {}, queue=NODES_QUEUE)["task_id"])
            for _ in range(params["nodes"])
        ],
    )
    client.close()
    for task_id in spawned:
        context.await_task_result(task_id, queue_name=NODES_QUEUE)
    context.step("join", next_step)


def run_node(_: dict[str, Any], __: TaskContext) -> None: ...


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
        self._spawn(TASK, {"steps": steps, "marked": marked})

    def build_fan(self, nodes: int) -> Callable[[], object]:
        return lambda: self._spawn(FAN_TASK, {"nodes": nodes})

    def _spawn(self, task: str, params: dict[str, Any]) -> None:
        if not hasattr(self._local, "client"):
            self._local.client = open_client()
        self._local.client.spawn(task, params, queue=QUEUE)

    def is_busy(self) -> bool:
        return self._progress.is_busy()

    def finished(self) -> Finished:
        return self._progress.finished()


def open_client(queue: str = QUEUE) -> Absurd:
    return Absurd(os.environ[URL_VARIABLE], queue_name=queue)


@cache
def serve_nodes() -> Absurd:
    """Serve the nodes of fans from the first fan on, as polling for them costs the idle worker."""
    nodes = open_client(NODES_QUEUE)
    nodes.register_task(NODE_TASK)(run_node)
    threading.Thread(
        target=lambda: nodes.start_worker(concurrency=CONCURRENCY, poll_interval=POLL_INTERVAL),
        daemon=True,
    ).start()
    return nodes


def prepare() -> None:
    control = str(Path(sys.executable).with_name("absurdctl"))
    for command in (["init"], ["create-queue", QUEUE], ["create-queue", NODES_QUEUE]):
        subprocess.run(
            [control, command[0], "-d", os.environ[URL_VARIABLE], *command[1:]],
            check=True,
            stdout=sys.stderr,
        )


def work() -> None:
    app = open_client()
    app.register_task(TASK)(run_steps)
    app.register_task(FAN_TASK)(run_fan)
    signal.signal(signal.SIGTERM, lambda *_: app.stop_worker())
    say("ready")
    app.start_worker(concurrency=CONCURRENCY, poll_interval=POLL_INTERVAL)
    app.close()
    if serve_nodes.cache_info().currsize:
        serve_nodes().stop_worker()


if __name__ == "__main__":
    play({"prepare": prepare, "work": work, "obey": lambda: obey(AbsurdDriver)})
