"""Run W10: `python -m benchmarks.rest --scale 0.1 --database geneva_w10`."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import click
from sqlalchemy import create_engine, make_url, text

import geneva_drive as gd
from benchmarks import places
from benchmarks.drivers.geneva import with_driver
from benchmarks.percentiles import percentile
from benchmarks.processes import Process
from benchmarks.rest import latencies, population, starts, streams
from benchmarks.rest.client import Client
from benchmarks.rest.starts import Contender

_GENEVA = "from geneva_drive.cli.main import main; main()"
_VIEWERS = 200
_CHANGES = 20
_PAGES = 200  # requests for each page of the dashboard
_SECONDS = 4.0  # of each turn of starts


def main() -> None:
    parser = argparse.ArgumentParser(description="W10: the REST API beside a million workflows.")
    parser.add_argument("--scale", type=float, default=1.0, help="1.0: a million workflows")
    parser.add_argument("--database", default="geneva_w10", help="its name; it is kept with --keep")
    parser.add_argument("--keep", action="store_true", help="leave the database for the next run")
    parser.add_argument("--loaded", action="store_true", help="the database is there already")
    parser.add_argument("--seconds", type=float, default=60.0, help="of reading at 50 per second")
    parser.add_argument("--starts", action="store_true", help="measure only starts")
    given = parser.parse_args()
    url = make_url(places.address("postgresql")).set(database=given.database)
    address = url.render_as_string(False)
    count = int(population.WORKFLOWS * given.scale)
    if given.starts:
        _create(given.database)
    elif not given.loaded:
        _load(given.database, address, count)
    try:
        if given.starts:
            _measure_starts(address)
        else:
            _measure(address, count, given.seconds)
    finally:
        if not given.keep:
            _execute(f"DROP DATABASE {given.database} WITH (FORCE)")


def _load(name: str, address: str, count: int) -> None:
    _create(name)
    began = time.monotonic()
    population.populate(address, count)
    click.echo(f"loaded in {time.monotonic() - began:.0f} s")


def _create(name: str) -> None:
    _execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    _execute(f"CREATE DATABASE {name}")


def _measure(address: str, count: int, seconds: float) -> None:
    click.echo(f"load average {os.getloadavg()[0]:.1f}")
    drive = gd.Drive(address)
    drive.migrate()
    key = drive.keys.create("ann", roles=["admin", "sales_manager"])
    with _server(address) as server:
        client = Client(server.url, key.secret)
        wanted = latencies.paths(client, count)
        click.echo(f"{'alone, ms':16}     n      p50      p95      p99      max")
        _print(latencies.table(latencies.alone(client, wanted, 20)))
        click.echo(f"{'at 50/s, ms':16}     n      p50      p95      p99      max")
        _print(latencies.table(latencies.steady(client, wanted, seconds)))
        click.echo(f"{'pages alone, ms':16}     n      p50      p95      p99      max")
        client = Client(server.url, key.secret)  # the server has closed the idle connection
        _print(latencies.table(latencies.alone(client, latencies.pages(count), _PAGES)))
        asyncio.run(_stream(server.url, key.secret, address, drive))
    drive.close()
    _measure_starts(address)


def _measure_starts(address: str) -> None:
    click.echo(f"load average {os.getloadavg()[0]:.1f}")
    drive = gd.Drive(address)
    drive.migrate()
    key = drive.keys.create("ann", roles=["admin", "sales_manager"])
    with _server(address) as server, _floor(address) as floor:
        client, bare = Client(server.url, key.secret), Client(floor.url, key.secret)
        contenders = [
            Contender("create()", lambda: starts.by_create(drive)),
            Contender("FastAPI alone", lambda: starts.by_rest(bare), floor.process_id),
            Contender(
                "FastAPI that calls create()",
                lambda: starts.by_rest(bare, "/created"),
                floor.process_id,
            ),
            Contender("POST /executions", lambda: starts.by_rest(client), server.process_id),
        ]
        _print(starts.compare(contenders, _SECONDS))
    drive.close()
    click.echo(f"load average {os.getloadavg()[0]:.1f}")


async def _stream(url: str, secret: str, address: str, drive: gd.Drive) -> None:
    one = await streams.transactions(url, secret, address, 1, 5)
    many = await streams.transactions(url, secret, address, _VIEWERS, 5)
    click.echo(f"transactions per second: {one:.1f} with one viewer, {many:.1f} with {_VIEWERS}")
    found = await streams.delays(url, secret, _VIEWERS, lambda: starts.by_create(drive), _CHANGES)
    shares = ", ".join(
        f"p{share:.0%}"[:-1] + f" {percentile(found, share):.0f}" for share in (0.5, 0.95, 0.99)
    )
    click.echo(f"a change reaches {_VIEWERS} viewers, ms: {shares}")


@dataclass(frozen=True, slots=True)
class _Served:
    url: str
    process_id: int


def _server(address: str) -> AbstractContextManager[_Served]:
    command = [sys.executable, "-c", _GENEVA, "serve", "--port", "0"]
    environment = {"GENEVA_DATABASE_URL": address, "GENEVA_APP": "benchmarks.rest.app"}
    return _serving("geneva serve", command, environment)


def _floor(address: str) -> AbstractContextManager[_Served]:
    command = [sys.executable, "-m", "benchmarks.rest.floor"]
    return _serving("bare FastAPI", command, {"GENEVA_DATABASE_URL": address})


@contextmanager
def _serving(name: str, command: list[str], environment: dict[str, str]) -> Iterator[_Served]:
    process = Process(name, command, environment)
    try:
        found = None
        while found is None:
            found = re.search(r" at (http://\S+)/docs", process.next_line())
        yield _Served(found[1], process.id)
    finally:
        process.stop()


def _execute(statement: str) -> None:
    engine = create_engine(with_driver(places.address("postgresql")))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(statement))
    engine.dispose()


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


if __name__ == "__main__":
    main()
