"""The progress bars and the table of `geneva bench`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from geneva_drive.cli.bench.measurement import ReportProgress
from geneva_drive.cli.bench.results import BenchResults, milliseconds
from geneva_drive.cli.output.console import make_table

_SLOW_COMMIT = timedelta(milliseconds=5)


@contextmanager
def progress(console: Console, *, is_shown: bool) -> Iterator[ReportProgress]:
    """Yield a function that shows progress as bars, which disappear at the end."""
    if not (is_shown and console.is_terminal):
        # A disabled bar prints an empty line before Rich 14.3.
        yield lambda what, done, total: None  # noqa: ARG005 - as with a bar
        return
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f}%")
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True) as bars:

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what.capitalize(), total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield report


def figures_table(figures: BenchResults) -> Table:
    workload = figures.workload
    load = (
        f"{workload.workflows:,} workflows of {workload.steps:,} steps, "
        f"{workload.concurrency} at once"
    )
    table = make_table("Measured", "How", "Figure")
    table.columns[2].justify = "right"
    table.columns[2].no_wrap = True
    table.add_row("Steps per second", load, f"{figures.steps_per_second:,.0f}")
    table.add_row("Workflows per second", "the same", f"{figures.workflows_per_second:,.0f}")
    table.add_row("One step", f"in a chain of {workload.chain}", _span(figures.chain_step))
    idle = f"{workload.starts} on an idle worker"
    table.add_row("Start to first step, p50", idle, _span(figures.start_p50))
    table.add_row("Start to first step, p99", "the same", _span(figures.start_p99))
    table.add_row("Bare commit", "one row, without GenevaDrive", _span(figures.bare_commit))
    return table


def advice(figures: BenchResults) -> str:
    """Return where to look if the figures are poor."""
    if figures.bare_commit > _SLOW_COMMIT:
        return (
            f"A bare commit takes {_span(figures.bare_commit)}, and a step of a chain cannot be "
            f"faster. Check the disk of the database and the network to it, and run "
            f"`geneva doctor`."
        )
    return (
        "A step of a chain cannot be faster than a bare commit. If the other figures are too low, "
        "`geneva doctor` shows what slows the database down."
    )


def _span(span: timedelta) -> str:
    return f"{milliseconds(span):.2f} ms"
