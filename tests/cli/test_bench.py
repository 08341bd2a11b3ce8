"""`geneva bench`, on every database."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event, inspect, text

import geneva_drive as gd
from geneva_drive.cli.bench.measurement import Standstill, measure
from geneva_drive.cli.bench.report import advice, figures_table
from geneva_drive.cli.bench.results import BenchResults, Workload, nearest_rank
from geneva_drive.cli.bench.tables import own_tables
from geneva_drive.cli.output.console import make_console
from geneva_drive.definition import registry
from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen
from tests.cli.served import PROGRAM
from tests.scenarios.processes import wait_until

_SECONDS = 60
SMALL = ("--workflows", "6", "--steps", "3")


@pytest.fixture
def geneva_database_url(every_database_url: str) -> str:
    return every_database_url


def _tables(drive: gd.Drive) -> set[str]:
    return {name for name in inspect(drive.engine).get_table_names() if "bench" in name}


def test_the_figures_are_those_of_the_work_that_was_wanted_and_nothing_of_it_is_left(
    geneva: gd.Drive, run: Run
) -> None:
    class Waiting(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    workflow = Waiting.create()
    definitions = registry.definitions()

    result = run("bench", *SMALL, "--concurrency", "2", "--json")

    assert (result.exit_code, result.stderr) == (0, "")
    body = json.loads(result.stdout)
    workload = {"workflows": 6, "steps": 3, "concurrency": 2, "chain": 100, "starts": 50}
    assert body | workload == body
    assert body["database"] == geneva.database_url
    assert body["steps_per_second"] == pytest.approx(body["workflows_per_second"] * 3, abs=0.2)
    measured = ("chain_step_ms", "start_p50_ms", "start_p99_ms", "bare_commit_ms")
    assert [name for name in measured if not body[name] > 0] == []
    assert body["start_p50_ms"] <= body["start_p99_ms"]
    assert _tables(geneva) == set()
    assert registry.definitions() == definitions
    assert (workflow.reload().state, workflow.step_executions[0].state) == ("ready", "scheduled")


def test_a_database_that_is_not_there_is_not_made_for_the_bench(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    result = run("bench", *SMALL)

    assert (result.exit_code, result.stderr) == (
        5,
        "geneva: There is no database at sqlite:///geneva.db yet. Create it with "
        "`geneva migrate`, with the same --app or --database, or drive.migrate(); or name the "
        "one you mean: --app package.module, --database URL, or GENEVA_DATABASE_URL.\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_kept_tables_hold_what_was_measured_and_are_dropped_by_force_only(
    geneva: gd.Drive, run: Run
) -> None:
    workload = Workload(workflows=6, steps=3, concurrency=2, chain=4, starts=2, commits=5)

    with own_tables(geneva, force=False, keep=True) as bench, registry.isolated():
        measure(bench, workload, lambda *_: None)
        finished = bench.workflows(gd.Workflow).finished().count()
        completed = bench.executions(state="completed").count()
        with bench.engine.connect() as connection:
            commits = connection.scalar(text("SELECT count(*) FROM geneva_bench_commits"))
    refused = run("bench", *SMALL)
    with own_tables(geneva, force=True, keep=False):
        pass

    assert (finished, completed, commits) == (2 + 1 + 6, 2 + 4 + 6 * 3, 5)
    assert (refused.exit_code, refused.stderr) == (
        2,
        f"geneva: The database at {geneva.database_url} has the tables "
        f"geneva_bench_* of another bench, which is running, was killed or kept them. If none is "
        f"running, `geneva bench --force` drops them.\n",
    )
    assert _tables(geneva) == set()


@pytest.mark.databases("sqlite")
def test_a_bench_for_people_ends_with_advice_and_the_way_to_kept_tables(
    geneva: gd.Drive, run: Run
) -> None:
    result = run("bench", *SMALL, "--keep", "--force")

    lines = screen(result).splitlines()
    assert result.exit_code == 0
    assert lines[0] == f"SQLite {sqlite3.sqlite_version} at {geneva.database_url}"
    assert "6 workflows of 3 steps, 8 at once" in lines[4]
    assert lines[-1] == "The tables are kept: GENEVA_TABLE_PREFIX=geneva_bench_ geneva list"


def _refuse(part: str) -> Callable[..., None]:
    """Make a listener that lets no statement with `part` through to the database."""

    def listen(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if part in statement.replace('"', ""):
            raise InterruptedError(f"a statement on {part}")

    return listen


@pytest.mark.parametrize(
    "part", ["CREATE TABLE geneva_bench_commits", "INSERT INTO geneva_bench_workflows"]
)
def test_nothing_of_the_bench_is_left_after_an_error(
    geneva: gd.Drive, geneva_database_url: str, run: Run, part: str
) -> None:
    engine = create_engine(geneva_database_url)
    event.listen(engine, "before_cursor_execute", _refuse(part))
    gd.configure(engine)

    with pytest.raises(InterruptedError):
        run("bench", *SMALL)

    engine.dispose()
    assert _tables(geneva) == set()


@pytest.mark.scenario
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_nothing_of_the_bench_is_left_after_a_signal(geneva: gd.Drive, number: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "bench", "--workflows", "1000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "GENEVA_DATABASE_URL": geneva.engine.url.render_as_string(hide_password=False),
        },
    ) as process:
        try:
            wait_until(lambda: _tables(geneva), "the tables of the bench")
            process.send_signal(number)
            said, errors = process.communicate(timeout=_SECONDS)
        finally:
            process.kill()  # nothing, if it has ended as it should

    assert (process.returncode, said) == (130, "")
    assert errors == "Interrupted. The tables geneva_bench_* are dropped.\n"
    assert _tables(geneva) == set()


def test_a_bench_that_does_not_move_ends_with_what_it_waits_for(
    geneva: gd.Drive, geneva_database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    engine = create_engine(geneva_database_url)
    event.listen(engine, "before_cursor_execute", _refuse("UPDATE geneva_bench_step_executions"))

    with (
        registry.isolated(),
        own_tables(gd.Drive(engine), force=False, keep=False) as bench,
        pytest.raises(Standstill) as refusal,
    ):
        measure(bench, Workload(starts=1), lambda *_: None, patience=timedelta(seconds=1))

    engine.dispose()
    assert str(refusal.value) == (
        "The bench is stuck at starts: 0 of 1 steps ran, then none for 1s. "
        "Run `geneva doctor` to find the cause."
    )
    assert _tables(geneva) == set()


@pytest.mark.databases("sqlite")
def test_a_drive_whose_own_tables_are_called_so_is_refused(
    geneva: gd.Drive, geneva_database_url: str, run: Run
) -> None:
    gd.configure(geneva_database_url, table_prefix="geneva_bench_").migrate()

    result = run("bench", "--force")

    assert (result.exit_code, result.stderr) == (
        2,
        "geneva: `geneva bench` drops all tables with the prefix 'geneva_bench_', which is your "
        "table_prefix. Use a Drive with another table_prefix.\n",
    )
    assert len(_tables(geneva)) > 0


FIGURES = BenchResults(
    bare_commit=timedelta(milliseconds=0.4),
    start_p50=timedelta(milliseconds=1.5),
    start_p99=timedelta(milliseconds=12),
    chain_step=timedelta(milliseconds=0.9),
    throughput=timedelta(seconds=2),
    workload=Workload(),
)


def test_the_table_says_what_was_measured_and_how(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    make_console().print(figures_table(FIGURES))

    assert screen(capsys.readouterr().out) == drawn("""
        Measured                  How                                       Figure
        ──────────────────────────────────────────────────────────────────────────
        Steps per second          1,000 workflows of 10 steps, 8 at once     5,000
        Workflows per second      the same                                     500
        One step                  in a chain of 100                        0.90 ms
        Start to first step, p50  50 on an idle worker                     1.50 ms
        Start to first step, p99  the same                                12.00 ms
        Bare commit               one row, without GenevaDrive             0.40 ms
    """)


def test_a_quick_database_is_left_to_the_doctor() -> None:
    assert advice(FIGURES) == (
        "A step of a chain cannot be faster than a bare commit. If the other figures are "
        "too low, `geneva doctor` shows what slows the database down."
    )


def test_a_slow_commit_points_to_disk_and_network() -> None:
    assert advice(replace(FIGURES, bare_commit=timedelta(milliseconds=8))) == (
        "A bare commit takes 8.00 ms, and a step of a chain cannot be faster. Check the disk of "
        "the database and the network to it, and run `geneva doctor`."
    )


@pytest.mark.parametrize(
    ("percent", "milliseconds"), [(1, 1), (50, 25), (98, 49), (99, 50), (100, 50)]
)
def test_a_percentile_is_one_of_what_was_measured(percent: int, milliseconds: int) -> None:
    measured = [timedelta(milliseconds=n) for n in range(50, 0, -1)]

    assert nearest_rank(measured, percent) == timedelta(milliseconds=milliseconds)
