"""What a run of the soak shows: a bar while it lasts, and a table of results."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import pytest
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table


@dataclass(slots=True)
class Result:
    """How one part ended on one database."""

    part: str
    database: str
    verdict: str = "whole"
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


class Display:
    """A plugin of pytest, in place of its terminal reporter."""

    def __init__(self, console: Console, minutes: float) -> None:
        self._console = console
        self._seconds = minutes * 60
        self._results: dict[str, Result] = {}
        self._began_at = 0.0
        self._over = threading.Event()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task("starting", total=None)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._progress.update(self._task, total=len(session.items) * self._seconds)
        self._progress.start()
        threading.Thread(target=self._tick, daemon=True).start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        part, database = nodeid.rpartition("::test_")[2].rstrip("]").split("[")
        self._results[nodeid] = Result(part, database)
        self._began_at = time.monotonic()
        self._progress.update(self._task, description=f"{part} on {database}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = self._results[report.nodeid]
        result.seconds += report.duration
        result.counts = dict(report.user_properties).get("counts", {})  # type: ignore[assignment]
        if report.skipped:
            result.verdict = "not run"
        if report.failed:
            result.verdict = "DISCREPANCY"
            result.faults.append(f"{report.longreprtext}\n{report.capstderr}")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        result = self._results[nodeid]
        self._console.print(f"{result.part} on {result.database}: {result.verdict}")
        for fault in result.faults:
            self._console.print(fault, style="red", markup=False, highlight=False)
        self._progress.update(self._task, completed=len(self._results) * self._seconds)

    def pytest_sessionfinish(self) -> None:
        self._over.set()
        self._progress.stop()
        table = Table("part", "database", "verdict", "seconds", "done")
        for result in self._results.values():
            done = ", ".join(f"{count:,} {name}" for name, count in result.counts.items())
            style = "red" if result.faults else ""
            seconds = f"{result.seconds:.0f}"
            table.add_row(result.part, result.database, result.verdict, seconds, done, style=style)
        self._console.print(table)

    def _tick(self) -> None:
        while not self._over.wait(0.5):
            elapsed = min(time.monotonic() - self._began_at, self._seconds)
            before = max(0, len(self._results) - 1) * self._seconds
            self._progress.update(self._task, completed=before + elapsed)
