"""`geneva bench`: measure how fast workflows run on the configured database."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.text import Text
from sqlalchemy import Engine

from geneva_drive.cli.bench.measurement import measure
from geneva_drive.cli.bench.report import advice, figures_table, progress
from geneva_drive.cli.bench.results import BenchResults, Workload
from geneva_drive.cli.bench.tables import PREFIX, own_tables
from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.console import make_console, plain, print_json
from geneva_drive.cli.parameters import json_option
from geneva_drive.cli.processes.signals import interrupted_by_signals
from geneva_drive.definition import registry
from geneva_drive.drive.drive import Drive
from geneva_drive.storage import dialects

_COUNT = click.IntRange(min=1)
_KEPT = {True: "kept", False: "dropped"}
_SERVERS = {"postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB", "sqlite": "SQLite"}


@click.command("bench")
@click.option(
    "--workflows", type=_COUNT, default=1000, show_default=True, help="How many workflows to run."
)
@click.option("--steps", type=_COUNT, default=10, show_default=True, help="Steps of each workflow.")
@click.option(
    "--concurrency", type=_COUNT, default=8, show_default=True, help="How many steps run at once."
)
@click.option("--keep", is_flag=True, help=f"Keep the tables {PREFIX}*.")
@click.option("--force", is_flag=True, help="First drop the tables of a bench that was killed.")
@json_option
@with_drive
def command(
    drive: Drive,
    workflows: int,
    steps: int,
    concurrency: int,
    keep: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Measure how fast workflows run on your own database.

    It runs one worker in this process, on its own tables geneva_bench_*, and drops them at the
    end. It does not touch your tables, but it keeps the database busy.
    """
    workload = Workload(workflows=workflows, steps=steps, concurrency=concurrency)
    try:
        figures = _measure(drive, workload, keep=keep, force=force, is_shown=not as_json)
    except KeyboardInterrupt:
        click.echo(f"Interrupted. The tables {PREFIX}* are {_KEPT[keep]}.", err=True)
        raise click.Abort from None
    if as_json:
        server = {"database": drive.database_url, "server": _server_name(drive.engine)}
        print_json({**server, **figures.body()})
        return
    _print(drive, figures)
    if keep:
        click.echo(f"\nThe tables are kept: GENEVA_TABLE_PREFIX={PREFIX} geneva list")


def _measure(
    drive: Drive, workload: Workload, *, keep: bool, force: bool, is_shown: bool
) -> BenchResults:
    with (
        interrupted_by_signals() as stop_if_asked,
        own_tables(drive, force=force, keep=keep) as bench,
        registry.isolated(),
        _quiet(),
        progress(make_console(), is_shown=is_shown) as show,
    ):

        def report(what: str, done: int, total: int) -> None:
            stop_if_asked()
            show(what, done, total)

        return measure(bench, workload, report)


def _print(drive: Drive, figures: BenchResults) -> None:
    console = make_console()
    where = plain(drive.database_url)
    console.print(
        Text.assemble((_server_name(drive.engine), "bold"), " at ", where), soft_wrap=True
    )
    console.print()
    console.print(figures_table(figures))
    console.print()
    console.print(plain(advice(figures)))


def _server_name(engine: Engine) -> str:
    """Return the name and version of the server; the engine must have connected before."""
    dialect = engine.dialect
    name = dialects.for_name(dialect.name).server_name(dialect)
    version = getattr(dialect, "server_version_info", None) or ()
    return f"{_SERVERS[name]} {'.'.join(str(part) for part in version)}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn off the log line per state change, which would cost time."""
    ours = logging.getLogger("geneva_drive")
    former = ours.level
    ours.setLevel(logging.WARNING)
    try:
        yield
    finally:
        ours.setLevel(former)
