"""`geneva watch`."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console
from sqlalchemy import Engine, event

import geneva_drive as gd
from geneva_drive.cli.commands import watch as watch_command
from geneva_drive.cli.watch import frame, views
from geneva_drive.cli.watch.observer import WorkflowObserver
from geneva_drive.testing import drain, perform_next_step, run_iterations, speedrun
from tests.cli.conftest import Run
from tests.cli.loops import let_stand_at
from tests.cli.screens import drawn, plain_console, screen
from tests.cli.served import PROGRAM

Handle = gd.WorkflowHandle[gd.Workflow[Any]]
Meanwhile = Callable[..., None]


class TickingClock:
    """Three seconds pass between two looks."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def tick(self) -> None:
        self._now += timedelta(seconds=3)


@pytest.fixture
def clock(geneva: gd.Drive) -> TickingClock:
    clock = TickingClock()
    geneva.clock = clock
    return clock


@pytest.fixture
def meanwhile(clock: TickingClock, monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Let one thing after the other happen, each while the watch rests between two looks."""

    def happens(*acts: Callable[[], object]) -> None:
        coming = iter(acts)

        def rest() -> None:
            clock.tick()
            next(coming)()

        monkeypatch.setattr(watch_command, "rest", rest)

    return happens


@pytest.fixture
def importing(clock: TickingClock) -> Iterator[Handle]:
    """A workflow with a resumable step in the middle; its class lives with the test."""

    class Import(gd.Workflow):
        @gd.step
        def fetch(self) -> None: ...

        @gd.resumable_step
        def import_rows(self, it: gd.IterableStep) -> None:
            for _ in it.iterate_over(range(10)):
                pass

        @gd.step
        def report(self) -> None: ...

    yield Import.create()  # noqa: PT022 - classes are known weakly; this frame keeps it


def _frame(drive: gd.Drive, console: Console) -> str:
    with console.capture() as captured:
        console.print(frame.frame(console, WorkflowObserver(drive, "1").look()))
    return screen(captured.get())


def test_a_running_loop_is_drawn_with_its_bar(standing: gd.Drive) -> None:
    frames = []

    class Import(gd.Workflow):
        @gd.step
        def fetch(self) -> None: ...

        @gd.resumable_step
        def import_rows(self, it: gd.IterableStep) -> None:
            let_stand_at(standing, 41_200, total=100_000, seconds=13.29)
            frames.append(_frame(standing, plain_console()))

    speedrun(Import.create())

    assert frames == [
        drawn("""
            Import 1 is performing
            Step 'import_rows' has been running since 2026-01-02 03:04:05 UTC (41,200 of
            100,000 items done).

            Step         Attempt  Outcome       Items  Took
            ───────────────────────────────────────────────
            fetch              1  success              0 ms
            import_rows        1  in progress  41,200  0 ms

            import_rows: 41,200 of 100,000 items, 3,100/s, 19 s left
            ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╸                                            41%

            Ctrl-C leaves; the workflow goes on.
        """)
    ]


def test_a_loop_without_a_total_has_no_bar(importing: Handle, geneva: gd.Drive) -> None:
    perform_next_step(importing)
    run_iterations(importing, "import_rows", count=3)
    let_stand_at(geneva, 3, total=None, seconds=2)

    assert _frame(geneva, plain_console()).splitlines()[-3:] == [
        "import_rows: 3 items, 1.5/s",
        "",
        "Ctrl-C leaves; the workflow goes on.",
    ]


def test_the_bar_of_a_csv_file_counts_bytes(importing: Handle, geneva: gd.Drive) -> None:
    perform_next_step(importing)
    run_iterations(importing, "import_rows", count=3)
    let_stand_at(geneva, 3, total=36_000, seconds=2, read_bytes=24_000)

    assert _frame(geneva, plain_console()).splitlines()[-4] == (
        "import_rows: 24,000 of 36,000 bytes, 12,000/s, 1 s left"
    )


def test_the_partitions_of_a_step_have_one_bar_together(standing: gd.Drive) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(partitions=2)
        def import_rows(self, it: gd.IterableStep) -> None:
            it.progress(total=10)
            for _ in it.iterate_over(range(10)):
                pass

    workflow = Import.create()
    perform_next_step(workflow)
    perform_next_step(workflow)
    let_stand_at(standing, 2, total=10, seconds=1)

    lines = _frame(standing, plain_console()).splitlines()

    assert [line for line in lines if line.startswith("import_rows")] == [
        "import_rows           1  success           0 ms",
        "import_rows[1]        1  success        5  0 ms",
        "import_rows[2]        1  scheduled      2",
        "import_rows: 7 of 10 items, 7.0/s, 1 s left",
    ]


def test_the_last_screen_shows_what_came_of_each_step(importing: Handle, geneva: gd.Drive) -> None:
    speedrun(importing)

    assert _frame(geneva, plain_console()) == drawn("""
        Import 1 is finished
        It finished at 2026-01-02 03:04:05 UTC; nothing is left to do.

        Step         Attempt  Outcome  Items  Took
        ──────────────────────────────────────────
        fetch              1  success         0 ms
        import_rows        1  success     10  0 ms
        report             1  success         0 ms
    """)


def test_of_many_steps_those_are_drawn_that_fit(standing: gd.Drive) -> None:
    many = {f"step_{number}": gd.step(lambda _: None) for number in range(1, 31)}
    long: type[gd.Workflow[Any]] = type("Long", (gd.Workflow,), many)
    speedrun(long.create())

    lines = _frame(standing, plain_console(height=12)).splitlines()

    assert len(lines) == 11
    assert lines[3:7] == [
        "... 25 earlier steps",
        "Step     Attempt  Outcome  Took",
        "───────────────────────────────",
        "step_26        1  success  0 ms",
    ]


def test_a_terminal_is_redrawn_until_the_workflow_has_ended(
    importing: Handle, geneva: gd.Drive, meanwhile: Meanwhile
) -> None:
    console = plain_console()
    meanwhile(
        lambda: perform_next_step(importing),
        lambda: run_iterations(importing, "import_rows", count=4),
        lambda: speedrun(importing),
    )

    watch_command.watch(WorkflowObserver(geneva, "1"), views.for_console(console), lambda: None)

    assert isinstance(console.file, io.StringIO)
    told = console.file.getvalue()
    assert "Import 1 is ready" in told
    assert "import_rows: 4 items" in told
    assert "Import 1 is finished" in told.rpartition("Ctrl-C leaves")[2]
    assert told.count("\x1b[?25l") == told.count("\x1b[?25h") == 1  # the cursor, hidden and back


def test_without_a_terminal_every_change_is_a_line(
    importing: Handle, run: Run, meanwhile: Meanwhile
) -> None:
    meanwhile(
        lambda: perform_next_step(importing),
        lambda: None,
        lambda: importing.pause(reason="Prices are wrong"),
    )

    result = run("watch", "1")

    serves = (
        "is due, but no running worker serves Import on queue 'default': start `geneva worker` "
        "with an app that imports the class."
    )
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "2026-01-02 03:04:05 UTC  Import 1 is ready",
        f"2026-01-02 03:04:05 UTC  Step 'fetch' {serves}",
        "2026-01-02 03:04:05 UTC  fetch, attempt 1: scheduled",
        "2026-01-02 03:04:08 UTC  fetch, attempt 1: success, took 0 ms",
        "2026-01-02 03:04:08 UTC  import_rows, attempt 1: scheduled",
        "2026-01-02 03:04:14 UTC  Import 1 is paused",
        "2026-01-02 03:04:14 UTC  It has been paused since 2026-01-02 03:04:14 UTC (Prices are "
        "wrong): `resume` runs step 'import_rows'; `skip` leaves it out.",
    ]


def test_without_a_terminal_the_progress_of_a_loop_is_told_now_and_then(
    geneva: gd.Drive, clock: TickingClock, run: Run, meanwhile: Meanwhile
) -> None:
    printed = []

    class Import(gd.Workflow):
        @gd.resumable_step
        def import_rows(self, it: gd.IterableStep) -> None:
            meanwhile(
                lambda: let_stand_at(geneva, 100, total=1000, seconds=1),
                lambda: let_stand_at(geneva, 200, total=1000, seconds=2),
                lambda: let_stand_at(geneva, 300, total=1000, seconds=3),
                lambda: let_stand_at(geneva, 400, total=1000, seconds=4),
                lambda: Import.find(1).cancel(force=True),
            )
            printed.append(run("watch", "1").stdout.splitlines())

    speedrun(Import.create())

    [lines] = printed
    assert lines[2:] == [
        "2026-01-02 03:04:05 UTC  import_rows, attempt 1: in progress",
        "2026-01-02 03:04:11 UTC  import_rows: 200 of 1,000 items, 100/s, 8 s left",
        "2026-01-02 03:04:17 UTC  import_rows: 400 of 1,000 items, 100/s, 6 s left",
        "2026-01-02 03:04:20 UTC  import_rows, attempt 1: canceled by operator, took 15s, "
        "400 of 1,000 items, 100/s, 6 s left",
        "2026-01-02 03:04:20 UTC  Import 1 is canceled",
        "2026-01-02 03:04:20 UTC  It was canceled at 2026-01-02 03:04:20 UTC; nothing is left to "
        "do.",
    ]


def test_of_a_partition_only_its_own_items_are_told(geneva: gd.Drive, run: Run) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(partitions=2)
        def rows(self, it: gd.IterableStep) -> None:
            it.progress(total=10)
            for _ in it.iterate_over(range(10)):
                pass

    speedrun(Import.create())
    told = run("watch", "1").stdout

    assert [line.count("5 items") for line in told.splitlines() if "rows[" in line] == [1, 1]
    assert "of 10" not in told
    assert "left" not in told.replace("nothing is left to do", "")


def test_what_is_requested_while_a_step_runs_is_a_line(
    geneva: gd.Drive, clock: TickingClock, run: Run, meanwhile: Meanwhile
) -> None:
    printed = []

    class Slow(gd.Workflow):
        @gd.step
        def work(self) -> None:
            meanwhile(
                lambda: Slow.find(1).cancel(),
                lambda: Slow.find(1).cancel(force=True),
            )
            printed.append(run("watch", "1").stdout)

    speedrun(Slow.create())

    assert "2026-01-02 03:04:08 UTC  Slow 1 is performing, cancel requested\n" in printed[0]


def test_json_has_a_line_for_every_change_and_the_progress(
    importing: Handle, geneva: gd.Drive, run: Run, meanwhile: Meanwhile
) -> None:
    perform_next_step(importing)
    run_iterations(importing, "import_rows", count=2)
    meanwhile(
        lambda: let_stand_at(geneva, 5, total=10, seconds=2),
        lambda: None,
        lambda: speedrun(importing),
    )

    result = run("watch", "1", "--json")

    bodies = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(body["state"], body["progress"] and body["progress"]["done"]) for body in bodies] == [
        ("ready", 2),
        ("ready", 5),
        ("finished", None),
    ]
    assert bodies[1]["progress"] == {
        "done": 5,
        "total": 10,
        "unit": "items",
        "rate": 2.5,
        "remaining_seconds": 2.0,
    }
    shown = json.loads(run("show", "1", "--json").stdout)
    del shown["children"]  # finding them reads the whole history, too much for each look
    assert bodies[-1] == {**shown, "progress": None}


def test_a_rate_holds_still_between_two_writes_of_the_elapsed_time(
    importing: Handle, geneva: gd.Drive
) -> None:
    perform_next_step(importing)
    observer = WorkflowObserver(geneva, "1")
    let_stand_at(geneva, 100, total=1000, seconds=1)
    observer.look()

    let_stand_at(geneva, 190, total=1000, seconds=1)
    between = observer.look()
    let_stand_at(geneva, 190, total=1000, seconds=2)
    after = observer.look()

    assert [loop.progress.rate for loop in between.loops] == [100.0]
    assert [loop.progress.rate for loop in after.loops] == [95.0]


def test_a_look_costs_two_queries_and_once_a_second_one_more(
    importing: Handle, geneva: gd.Drive, clock: TickingClock
) -> None:
    observer = WorkflowObserver(geneva, "1")
    observer.look()

    with _counted(geneva.engine) as at_once:
        observer.look()
    clock.tick()
    with _counted(geneva.engine) as later:
        observer.look()

    assert (len(at_once), len(later)) == (2, 3)


def test_a_workflow_that_waits_for_a_limit_says_so(geneva: gd.Drive, clock: TickingClock) -> None:
    class Call(gd.Workflow):
        @gd.step(limit=gd.Limit(key="api", rate="1/d"))
        def call(self) -> None: ...

    Call.create()
    Call.create()
    drain(geneva)

    assert WorkflowObserver(geneva, "2").look().why == (
        "Step 'call' is due and waits for the limit 'api' (1/d): 1 started within 1d, 1 waiting."
    )


def test_ctrl_c_leaves_with_130(
    importing: Handle, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch_command, "rest", interrupt)

    assert run("watch", "1").exit_code == 130


@pytest.mark.scenario
def test_ctrl_c_in_a_terminal_leaves_the_screen_as_it_was_and_the_cursor_visible(
    geneva: gd.Drive,
) -> None:
    class Later(gd.Workflow):
        @gd.step(wait=timedelta(days=1))
        def only(self) -> None: ...

    Later.create()
    ours, theirs = pty.openpty()

    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "watch", "1", "--database", geneva.database_url],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
    ) as process:
        os.close(theirs)
        told = _read_until(ours, "Ctrl-C leaves")
        process.send_signal(signal.SIGINT)
        told += _read_until(ours, "\x1b[?25h")

    os.close(ours)
    assert process.returncode == 130
    assert "Step 'only' runs at" in told
    assert "Traceback" not in told


def _read_until(descriptor: int, words: str) -> str:
    told = ""
    while words not in told:
        told += os.read(descriptor, 4096).decode()
    return told


def test_a_workflow_that_is_deleted_meanwhile_is_no_longer_there(
    importing: Handle, geneva: gd.Drive, clock: TickingClock, run: Run, meanwhile: Meanwhile
) -> None:
    def delete() -> None:
        importing.cancel()
        clock.tick()
        geneva.prune(older_than=0)

    meanwhile(delete)

    result = run("watch", "1")

    assert (result.exit_code, result.stderr) == (
        3,
        "geneva: There is no workflow with id 1. `geneva list` shows all workflows.\n",
    )


@contextmanager
def _counted(engine: Engine) -> Iterator[list[str]]:
    """Collect the statements that an engine runs."""
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield statements
    event.remove(engine, "before_cursor_execute", note)
