"""`geneva watch` of graphs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, update

import geneva_drive as gd
from geneva_drive.cli.commands import watch as watch_command
from geneva_drive.cli.watch import frame
from geneva_drive.cli.watch.observer import WorkflowObserver
from geneva_drive.testing import perform_next_step, speedrun
from tests.cli.conftest import Run
from tests.cli.screens import drawn, plain_console, screen

Handle = gd.WorkflowHandle[Any]


@pytest.fixture
def nightly(standing: gd.Drive) -> Handle:
    """A dynamic workflow: one node, twelve that are alike, two, and one."""

    @gd.job(name="work")
    def work() -> None: ...

    @gd.template(name="nightly")
    def build(w: gd.DynamicWorkflow) -> None:
        w.node("begin")
        w.fan_out(range(12), name="export_{}", job=work)
        w.fan_out(["left", "right"], name="sum_{}", job=work)
        w.node("end")

    return build.start()


@pytest.fixture
def order(standing: gd.Drive) -> Iterator[Handle]:
    class Order(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def check_stock(self) -> None:
            raise ValueError("none left")

        @gd.task(depends_on=validate)
        def check_fraud(self) -> None: ...

        @gd.step(depends_on=[check_stock, check_fraud])
        def charge(self) -> None: ...

    yield Order.create()  # noqa: PT022 - classes are known weakly; this frame keeps it


def _frame(drive: gd.Drive, *, height: int = 24) -> str:
    console = plain_console(height=height)
    with console.capture() as captured:
        console.print(frame.frame(console, WorkflowObserver(drive, "1").look()))
    return screen(captured.get())


def test_a_graph_is_drawn_with_a_bar_for_each_level(nightly: Handle, geneva: gd.Drive) -> None:
    for _ in range(7):
        perform_next_step(nightly)

    assert _frame(geneva) == drawn("""
        nightly 1 is ready
        6 nodes are due ('export_6', 'export_7', 'export_8', ...), but no running worker
        serves dynamic workflows on queue 'default': start `geneva worker` with an app
        that imports the jobs.

        level 1: begin                ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━   1/1
        level 2: export_*             ━━━━━━━━━━━━━━━                 6/12
        level 3: sum_left, sum_right                                   0/2
        level 4: end                                                   0/1

        Ctrl-C leaves; the workflow goes on.
    """)


def test_the_last_screen_of_a_graph_shows_what_failed(order: Handle, geneva: gd.Drive) -> None:
    speedrun(order)

    assert _frame(geneva) == drawn("""
        Order 1 is paused
        It has been paused since 2026-01-02 03:04:05 UTC (ValueError: none left):
        `resume` runs node 'check_stock' and all other failed nodes again; `skip` leaves
        it out.

        level 1: validate                  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  1/1
        level 2: check_stock, check_fraud                                  0/2
        level 3: charge                                                    0/1

        Node         Attempt  Outcome              Took
        ───────────────────────────────────────────────
        check_stock        1  paused by exception  0 ms
    """)


def test_of_many_levels_those_are_drawn_that_are_under_way(standing: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    for number in range(1, 31):
        w.node(f"node_{number}")
    workflow = w.start()
    for _ in range(20):
        perform_next_step(workflow)

    lines = _frame(standing, height=12).splitlines()

    assert [line.partition("  ")[0].rstrip() for line in lines[4:-2]] == [
        "... 19 earlier levels",
        "level 20: node_20",
        "level 21: node_21",
        "level 22: node_22",
        "... 8 more levels",
    ]


def test_without_a_terminal_levels_are_told_as_they_end(
    nightly: Handle, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    acts: Iterator[Callable[[], object]] = iter(
        [lambda: perform_next_step(nightly), lambda: None, lambda: speedrun(nightly)]
    )
    monkeypatch.setattr(watch_command, "rest", lambda: next(acts)())

    result = run("watch", "1")

    assert [line.partition("UTC  ")[2] for line in result.stdout.splitlines()[2:]] == [
        "level 1: begin 1/1",
        "level 2: export_* 12/12",
        "level 3: sum_left, sum_right 2/2",
        "level 4: end 1/1",
        "nightly 1 is finished",
        "It finished at 2026-01-02 03:04:05 UTC; nothing is left to do.",
    ]


def test_as_json_the_levels_are_part_of_each_line(nightly: Handle, run: Run) -> None:
    speedrun(nightly)

    body = json.loads(run("watch", "1", "--json").stdout)

    assert body["levels"][1] == {"level": 2, "names": "export_*", "done": 12, "total": 12}


def _levels_done(observer: WorkflowObserver) -> list[int]:
    return [level.done for level in observer.look().levels]


def test_only_what_is_newly_done_is_read_again(nightly: Handle, geneva: gd.Drive) -> None:
    observer = WorkflowObserver(geneva, "1")
    observer.look()
    statements: list[str] = []
    listener = _listening(statements)
    perform_next_step(nightly)
    event.listen(Engine, "before_cursor_execute", listener)

    done = _levels_done(observer)

    event.remove(Engine, "before_cursor_execute", listener)
    assert done == [1, 0, 0, 0]
    assert not any("graph_nodes" in statement for statement in statements)


def _listening(statements: list[str]) -> Callable[..., None]:
    def listen(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    return listen


def test_a_worker_whose_clock_is_behind_is_counted_as_well(
    nightly: Handle, geneva: gd.Drive
) -> None:
    perform_next_step(nightly)
    observer = WorkflowObserver(geneva, "1")
    observer.look()
    perform_next_step(nightly)
    table = geneva.store.tables.step_executions
    with geneva.engine.begin() as connection:
        connection.execute(
            update(table)
            .where(table.c.step_name == "export_0")
            .values(finished_at=geneva.clock.now() - timedelta(hours=1))
        )

    assert _levels_done(observer) == [1, 1, 0, 0]
