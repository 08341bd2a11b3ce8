"""How throughput changes as one thing grows: `python -m benchmarks.growth [DATABASE]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

import geneva_drive as gd
from benchmarks import machine
from benchmarks.drivers.geneva import CONTEXT_VARIABLE
from benchmarks.drivers.geneva_app import Sleeping
from benchmarks.session import prepared, working
from benchmarks.systems import ALL, System
from benchmarks.workloads import backlog, throughput
from geneva_drive.testing import drain

RESULTS = Path(__file__).parent / "results"
WORKFLOWS = 500
LOADS = 3
Row = tuple[str, str, float]


def main(service: str) -> None:
    system = next(each for each in ALL if each.is_ours and each.service == service)
    console = Console()
    rows = []
    for row in (*_workflows(system), *_workers(system), *_history(system), *_payload(system)):
        console.print(f"{row[0]:>10} {row[1]:>10}: {row[2]:,.0f} steps/s")
        rows.append(row)
    console.print(_table(rows))
    RESULTS.mkdir(exist_ok=True)
    facts = machine.facts({service})
    (RESULTS / f"growth-{service}.json").write_text(
        json.dumps({"machine": facts, "rows": rows}, indent=2) + "\n"
    )


def _workflows(system: System) -> Iterator[Row]:
    for count in (500, 2_000, 10_000):
        yield "workflows", f"{count:,}", _rate(system, workflows=count, loads=1)


def _workers(system: System) -> Iterator[Row]:
    for processes in (1, 2, 4):
        yield "processes", str(processes), _rate(system, processes=processes)


def _history(system: System) -> Iterator[Row]:
    for ended in (0, 100_000, 1_000_000):
        yield "history", f"{ended:,}", _rate(system, history=ended)


def _payload(system: System) -> Iterator[Row]:
    for size in (0, 1_000, 10_000, 100_000):
        yield "context", f"{size:,} B", _rate(system, context=size)


def _rate(
    system: System,
    *,
    workflows: int = WORKFLOWS,
    loads: int = LOADS,
    processes: int = 1,
    history: int = 0,
    context: int = 0,
) -> float:
    """Return the median of the steps per second over several loads of ten-step workflows."""
    with prepared(system) as (url, environment):
        if history:
            _let_end(url, history)
        environment[CONTEXT_VARIABLE] = str(context)
        with working(system, url, environment, processes) as session:
            return median(throughput.measure(session, workflows, 1)["steps"] for _ in range(loads))


def _let_end(url: str, count: int) -> None:
    """Let as many ended workflows stand in the tables, each with one execution."""
    drive = gd.Drive(url)
    template = Sleeping.using(drive).create()
    drain(drive)
    backlog.clone(url, template.id, count)
    drive.close()


def _table(rows: list[Row]) -> Table:
    table = Table("What grows", "To", "Steps/s", "Against the smallest")
    smallest: dict[str, float] = {}
    for what, size, rate in rows:
        ratio = rate / smallest.setdefault(what, rate)
        table.add_row(what, size, f"{rate:,.0f}", f"{ratio:.2f}")
    return table


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "postgresql")
