"""Batches and maps on the command line: `show`, `watch`, `graph`, `history` and failed items."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import geneva_drive as gd
from geneva_drive.cli.commands import watch as watch_command
from geneva_drive.cli.watch import frame
from geneva_drive.cli.watch.observer import WorkflowObserver
from geneva_drive.testing import drain, perform_next_step
from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen

Handle = gd.WorkflowHandle[Any]


@pytest.fixture
def geneva_database_url(
    database: str, worker_database: Callable[[str], str], tmp_path: Path
) -> str:
    if database == "sqlite":
        return f"sqlite:///{tmp_path / 'geneva.db'}"
    return worker_database(database)


@pytest.fixture
def prices(standing: gd.Drive) -> Iterator[Handle]:
    """A batch of three workers, of which the second fails and the third skips an item."""

    class Prices(gd.Workflow):
        @gd.batch(checkpoint_interval=100, failure_strategy="isolate")
        def rows(self) -> gd.Batches:
            return gd.Batches.split(total=5_000, batch_size=2_000)

        @rows.worker
        def process(self, batch: gd.Batch) -> None:
            for number in batch.items(on_error="stop" if batch.id == "002" else "skip"):
                if number == 2_150:
                    raise ValueError("no price")
                if number == 4_711:
                    raise KeyError("colour")

        @rows.aggregate
        def summarize(self, results: gd.BatchResults) -> None: ...

    yield Prices.create()  # noqa: PT022 - classes are known weakly; this frame keeps it


@pytest.fixture
def calls(standing: gd.Drive) -> Iterator[Handle]:
    """A map of 25 items, of which the fourth fails; three may run at once."""

    class Calls(gd.Workflow):
        @gd.map(lambda self: [{"tool": n} for n in range(1, 26)], parallelism=3)
        def call_tool(self, item: dict[str, int]) -> None:
            if item["tool"] == 4:
                raise ValueError("it is down")

        @gd.step
        def answer(self) -> None: ...

    yield Calls.create()  # noqa: PT022 - classes are known weakly; this frame keeps it


def _show(run: Run, workflow: Handle, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "100")
    return screen(run("show", str(workflow.id)))


def _frame(workflow: Handle, *, height: int = 24) -> str:
    console = Console(
        file=io.StringIO(),
        width=100,
        height=height,
        force_terminal=True,
        color_system=None,
        legacy_windows=False,
        highlight=False,
        _environ={"TERM": "xterm"},
    )
    with console.capture() as captured:
        look = WorkflowObserver(workflow.drive, str(workflow.id)).look()
        console.print(frame.frame(console, look))
    return screen(captured.get())


def test_a_batch_is_shown_with_its_counts_and_all_its_workers(
    prices: Handle, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain()
    lines = _show(run, prices, monkeypatch).splitlines()
    assert [line for line in lines if line.startswith("rows ")] == [
        "rows          2 of 3 workers done, 1 failed; 3,000 of 5,000 items; 1 item failed"
    ]
    assert "\n".join(lines[lines.index("") + 12 :]) == drawn("""
        Level  Node         Outcome                Attempt  When (UTC)           Took
        ─────────────────────────────────────────────────────────────────────────────
            1  rows         success                      1  2026-01-02 03:04:05  0 ms
            2  process x 3  2 completed, 1 failed           2026-01-02 03:04:05
            3  summarize    pending

        Worker       Range           Outcome              Attempt  Items  When (UTC)           Took
        ───────────────────────────────────────────────────────────────────────────────────────────
        process_001  0 to 2,000      success                    1  2,000  2026-01-02 03:04:05  0 ms
        process_002  2,000 to 4,000  paused by exception        1    150  2026-01-02 03:04:05  0 ms
        process_003  4,000 to 5,000  success                    1  1,000  2026-01-02 03:04:05  0 ms

        process_002, attempt 1: ValueError: no price
    """)


def test_of_many_workers_those_are_shown_that_failed_or_run(
    calls: Handle, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain()
    shown = _show(run, calls, monkeypatch)
    assert "call_tool x 25  3 completed, 1 failed, 2 scheduled, 19  " in shown
    assert shown[shown.index("Worker") :] == drawn("""
        Worker         Item         Outcome              Attempt  When (UTC)           Took
        ───────────────────────────────────────────────────────────────────────────────────
        call_tool_004  {"tool": 4}  paused by exception        1  2026-01-02 03:04:05  0 ms
        ... 24 more; --json lists all

        call_tool_004, attempt 1: ValueError: it is down
    """)


def test_show_in_json_has_the_counts_and_every_worker(calls: Handle, run: Run) -> None:
    drain()
    body = json.loads(run("show", str(calls.id), "--json").stdout)
    assert [node["id"] for node in body["nodes"]][-2:] == ["call_tool_025", "answer"]
    assert body["batches"] == [
        {
            "name": "call_tool",
            "node": "call_tool",
            "kind": "map",
            "total": 25,
            "done": 3,
            "running": 0,
            "pending": 21,
            "failed": 1,
            "items_done": 3,
            "items_total": 25,
            "items_failed": 0,
            "parallelism": 3,
            "rate": None,
            "remaining_seconds": None,
            "is_over": False,
        }
    ]


def test_failed_items_are_listed_with_their_workers(prices: Handle, run: Run) -> None:
    drain()
    result = run("show", str(prices.id), "--failed-items")
    assert screen(result) == drawn(f"""
        Prices {prices.id} is paused
        1 item failed and was skipped.

        Worker       Cursor  Error     Message   Item
        ─────────────────────────────────────────────
        process_003  4712    KeyError  'colour'  4711
    """)


def test_failed_items_are_written_as_csv_and_json(prices: Handle, run: Run) -> None:
    drain()
    written = run("show", str(prices.id), "--failed-items", "--csv").stdout
    assert list(csv.reader(io.StringIO(written))) == [
        ["worker", "cursor", "error_class", "error_message", "item"],
        ["process_003", "4712", "builtins.KeyError", "'colour'", "4711"],
    ]
    body = json.loads(run("show", str(prices.id), "--failed-items", "--json").stdout)
    assert body == {
        "failed_items": [
            {
                "worker": "process_003",
                "cursor": 4712,
                "error_class": "builtins.KeyError",
                "error_message": "'colour'",
                "item": "4711",
                "at": "2026-01-02T03:04:05Z",
            }
        ]
    }


@pytest.mark.parametrize("options", [("--csv",), ("--failed-items", "--csv", "--json")])
def test_csv_is_refused_for_anything_else(
    prices: Handle, run: Run, options: tuple[str, ...]
) -> None:
    result = run("show", str(prices.id), *options)
    assert result.exit_code == 2
    assert "--csv needs --failed-items, and cannot be used with --json." in result.stderr


def test_watch_draws_a_bar_for_each_worker(prices: Handle) -> None:
    perform_next_step(prices)
    perform_next_step(prices)
    shown = _frame(prices)
    assert shown[shown.index("level 2") :] == drawn("""
        level 2: process    ━━━━━━━━━━━━━                             1/3
        level 3: summarize                                            0/1

        rows: 1 of 3 workers done, 2 pending; 2,000 of 5,000 items
        process_001  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  2,000/2,000  completed, 0 ms
        process_002                                                0/2,000  scheduled
        process_003                                                0/1,000  scheduled

        Ctrl-C leaves; the workflow goes on.
    """)


def test_watch_folds_many_workers_into_one_bar_and_those_that_failed(calls: Handle) -> None:
    drain()
    assert _frame(calls).partition("\n\n")[2] == drawn("""
        level 1: call_tool  ━━━━╸                                     3/25
        level 2: answer                                                0/1

        call_tool: 3 of 25 items done, 21 pending, 1 failed
        ━━━━━━━━╸                                                                 12%
        call_tool_004  {"tool": 4}    failed: ValueError: it is down
        ... 24 more
    """)


def test_watch_folds_workers_that_do_not_fit_on_the_screen(prices: Handle) -> None:
    perform_next_step(prices)
    shown = _frame(prices, height=14)
    assert shown[shown.index("rows: ") :] == drawn("""
        rows: 0 of 3 workers done, 3 pending; 0 of 5,000 items
                                                                                   0%
        process_001                                            0/2,000  scheduled
        process_002                                            0/2,000  scheduled
        process_003                                            0/1,000  scheduled

        Ctrl-C leaves; the workflow goes on.
    """)


def test_watch_in_a_pipe_prints_workers_and_counts(
    prices: Handle, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_command, "rest", lambda: perform_next_step(prices))
    lines = [
        line.partition("UTC  ")[2] for line in screen(run("watch", str(prices.id))).splitlines()
    ]
    ended = "process_001, attempt 1: success, took 0 ms, 2,000 of 2,000 items"
    assert any(line.startswith(ended) for line in lines)
    assert "rows: 2 of 3 workers done, 1 failed; 3,000 of 5,000 items; 1 item failed" in lines
    assert "level 2: process 2/3" in lines


def test_watch_in_json_has_the_counts(
    prices: Handle, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_command, "rest", lambda: perform_next_step(prices))
    bodies = [
        json.loads(line) for line in run("watch", str(prices.id), "--json").stdout.splitlines()
    ]
    counts = [
        (batch["done"], batch["failed"], batch["items_done"])
        for body in bodies
        for batch in body.get("batches", ())
    ]
    assert counts == [(0, 0, 0), (1, 0, 2_000), (1, 1, 2_000), (2, 1, 3_000)]


def test_the_workers_of_a_batch_are_drawn_as_one_node(prices: Handle, run: Run) -> None:
    drain()
    assert run("graph", str(prices.id)).stdout.splitlines()[1:4] == [
        '    n0["rows<br/>batch, 0 ms"]:::completed',
        '    n1["process x 3<br/>2 completed, 1 failed"]:::failed',
        '    n2["summarize"]:::pending',
    ]
    dot = run("graph", str(prices.id), "--format", "dot").stdout
    assert 'n1 [label="process x 3\\n2 completed, 1 failed"' in dot
    svg = run("graph", str(prices.id), "--format", "svg").stdout
    assert ">process x 3</text>" in svg
    assert ">2 completed, 1 failed</text>" in svg
    body = json.loads(run("graph", str(prices.id), "--json").stdout)
    assert [node["id"] for node in body["nodes"]] == ["rows", "process", "summarize"]
    assert body["nodes"][1]["workers"] == 3
    assert body["nodes"][1]["worker_states"] == {"completed": 2, "failed": 1}


def test_all_nodes_of_a_graph_include_the_workers(prices: Handle, run: Run) -> None:
    drain()
    drawing = run("graph", str(prices.id), "--all").stdout
    assert '["process_002<br/>0 ms"]:::failed' in drawing
    assert drawing.count("-->") == 6


def test_a_class_is_drawn_with_its_batch_and_map(prices: Handle, calls: Handle, run: Run) -> None:
    assert '["process<br/>batch workers"]' in run("graph", "Prices").stdout
    assert '["call_tool<br/>map"]' in run("graph", "Calls").stdout


def test_history_names_the_workers_and_where_they_stand(prices: Handle, run: Run) -> None:
    drain()
    assert screen(run("history", str(prices.id))) == drawn(f"""
        Prices {prices.id} is paused

        Step         Attempt  Outcome              Items  When (UTC)           Took
        ───────────────────────────────────────────────────────────────────────────
        rows               1  success                     2026-01-02 03:04:05  0 ms
        process_001        1  success              2,000  2026-01-02 03:04:05  0 ms
        process_002        1  paused by exception    150  2026-01-02 03:04:05  0 ms
        process_003        1  success              1,000  2026-01-02 03:04:05  0 ms

        process_002, attempt 1: ValueError: no price

        process_002, attempt 1: at cursor 2150

        process_003, attempt 1: 1 item was skipped:
        Item  Error
        ────────────────────────
        4711  KeyError: 'colour'
    """)
