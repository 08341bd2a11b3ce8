"""Starting workflows by REST, and by `create()` through the same number of threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import geneva_drive as gd
from benchmarks.rest.app import Started
from benchmarks.rest.client import Client

THREADS = 8


def rate_of(start: Callable[[], object], seconds: float, threads: int = THREADS) -> float:
    """Return how often per second so many threads do something."""
    until = time.perf_counter() + seconds
    counts = [0] * threads

    def run(number: int) -> None:
        while time.perf_counter() < until:
            start()
            counts[number] += 1

    running = [threading.Thread(target=run, args=[number]) for number in range(threads)]
    began = time.perf_counter()
    for one in running:
        one.start()
    for one in running:
        one.join()
    return sum(counts) / (time.perf_counter() - began)


def by_rest(client: Client) -> object:
    return client.post("/api/v1/executions", {"workflow": "Started", "context": {"amount": 1}})


def by_create(drive: gd.Drive) -> object:
    return Started.using(drive).create(context={"amount": 1}, actor="ann")
