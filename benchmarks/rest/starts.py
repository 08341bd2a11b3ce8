"""Starting workflows by REST, and by `create()` through the same number of threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
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


@dataclass(frozen=True, slots=True)
class Contender:
    """A way to start a workflow, and the server process that does it, if there is one."""

    name: str
    start: Callable[[], object]
    server: int | None = None


def compare(contenders: Sequence[Contender], seconds: float) -> list[str]:
    """Return lines about ways to start workflows, which take turns; the first is the measure."""
    rates: dict[str, list[Rate]] = {one.name: [] for one in contenders}
    for _ in range(TURNS):
        for one in contenders:
            rates[one.name].append(rate_of(one.start, seconds, server=one.server))
    measure = rates[contenders[0].name]
    return [
        f"{f'starts through {THREADS} threads':34}per second   of the first   "
        f"processor, ms: client, server",
        *(_line(name, found, measure) for name, found in rates.items()),
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


def by_rest(client: Client, path: str = "/api/v1/executions") -> object:
    return client.post(path, {"workflow": "Started", "context": {"amount": 1}})


def by_create(drive: gd.Drive) -> object:
    return Started.using(drive).create(context={"amount": 1}, actor="ann")


def _processor_seconds(process_id: int) -> float:
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _line(name: str, rates: Sequence[Rate], measure: Sequence[Rate]) -> str:
    pairs = zip(rates, measure, strict=True)
    ratio = median(one.per_second / other.per_second for one, other in pairs)
    server = median(one.server for one in rates)
    return (
        f"{name:34}{median(one.per_second for one in rates):10,.0f}{ratio:15.2f}"
        f"{median(one.client for one in rates):24.2f}" + (f"{server:8.2f}" if server else "")
    )
