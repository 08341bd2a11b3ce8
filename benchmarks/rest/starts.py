"""Starting workflows by REST, and by `create()` through the same number of threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import geneva_drive as gd
from benchmarks.rest.app import Started
from benchmarks.rest.client import Client

THREADS = 8
TURNS = 3
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Rate:
    """What one turn took: starts per second, and milliseconds of processor time for each."""

    per_second: float
    client: float
    server: float


def compare(
    drive: gd.Drive, client: Client, server: int, floor: Client, floor_server: int, seconds: float
) -> list[str]:
    """Return lines about starts by REST, beside `create()` and a server that does nothing."""
    own, rest, bare = [], [], []
    for _ in range(TURNS):
        own.append(rate_of(lambda: by_create(drive), seconds))
        bare.append(rate_of(lambda: by_rest(floor), seconds, server=floor_server))
        rest.append(rate_of(lambda: by_rest(client), seconds, server=server))
    return [
        f"{f'starts through {THREADS} threads':34}per second   client ms   server ms (processor)",
        _line("create()", own),
        _line("bare FastAPI, no database", bare),
        _line("POST /executions", rest),
        f"POST /executions: {_ratio(rest, own)} of create(), {_ratio(rest, bare)} of bare FastAPI; "
        f"bare FastAPI: {_ratio(bare, own)} of create()",
    ]


def rate_of(
    start: Callable[[], object], seconds: float, threads: int = THREADS, server: int | None = None
) -> Rate:
    """Return how often per second so many threads do something, and what it takes."""
    counts = [0] * threads

    def run(number: int) -> None:
        while time.perf_counter() < until:
            start()
            counts[number] += 1

    running = [threading.Thread(target=run, args=[number]) for number in range(threads)]
    began, used = time.perf_counter(), time.process_time()
    served = 0.0 if server is None else _processor_seconds(server)
    until = began + seconds
    for one in running:
        one.start()
    for one in running:
        one.join()
    count = sum(counts)
    used = time.process_time() - used
    served = 0.0 if server is None else _processor_seconds(server) - served
    return Rate(count / (time.perf_counter() - began), used / count * 1000, served / count * 1000)


def by_rest(client: Client) -> object:
    return client.post("/api/v1/executions", {"workflow": "Started", "context": {"amount": 1}})


def by_create(drive: gd.Drive) -> object:
    return Started.using(drive).create(context={"amount": 1}, actor="ann")


def _processor_seconds(process_id: int) -> float:
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _line(name: str, rates: list[Rate]) -> str:
    server = median(one.server for one in rates)
    return (
        f"{name:32}{median(one.per_second for one in rates):14,.0f}"
        f"{median(one.client for one in rates):12.2f}" + (f"{server:12.2f}" if server else "")
    )


def _ratio(some: list[Rate], others: list[Rate]) -> str:
    pairs = zip(some, others, strict=True)
    return f"{median(one.per_second / other.per_second for one, other in pairs):.2f}"
