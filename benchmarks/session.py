"""A system at work: a fresh database, its worker processes, and a client."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import places
from benchmarks.drivers.marks import ADDRESS_VARIABLE, new_address
from benchmarks.processes import Process, run
from benchmarks.systems import System

WARM_UP_WORKFLOWS = 10


class Session:
    """What workloads talk to."""

    def __init__(self, url: str, workers: list[Process], client: Process) -> None:
        self.url = url
        self.workers = workers
        self._client = client

    def ask(self, command: str, **arguments: Any) -> Any:
        return self._client.ask({"do": command, **arguments}, beside=self.workers)


@contextmanager
def prepared(system: System) -> Iterator[tuple[str, dict[str, str]]]:
    """Give a fresh database with the system's tables, and the environment for its processes."""
    with places.fresh(system.service) as url:
        marks = new_address()
        environment = {
            system.url_variable: url,
            ADDRESS_VARIABLE: marks,
            "GENEVA_BENCH_QUEUE": f"geneva_bench_{secrets.token_hex(4)}",
            "GENEVA_BENCH_RESULTS": places.address("redis"),
        }
        try:
            if system.has_tables:
                run(f"{system.name} prepare", system.command("prepare"), environment)
            yield url, environment
        finally:
            if not system.has_tables:
                run(f"{system.name} clean_up", system.command("clean_up"), environment)
            shutil.rmtree(Path(marks).parent)


@contextmanager
def working(
    system: System, url: str, environment: dict[str, str], processes: int
) -> Iterator[Session]:
    """Start workers and a client, and let them run a little until all are awake."""
    with ExitStack() as stack:

        def start(role: str) -> Process:
            process = Process(f"{system.name} {role}", system.command(role), environment)
            stack.callback(process.stop)
            return process

        workers = [start("work") for _ in range(processes)]
        client = start("obey")
        for process in (*workers, client):
            process.next_line()
        session = Session(url, workers, client)
        session.ask("load", workflows=WARM_UP_WORKFLOWS, steps=10)
        yield session


@contextmanager
def at_work(system: System, processes: int = 1) -> Iterator[Session]:
    with (
        prepared(system) as (url, environment),
        working(system, url, environment, processes) as session,
    ):
        yield session
