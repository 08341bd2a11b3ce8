from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Literal

from rich.console import Console, RenderableType
from rich.text import Text

from geneva_drive.cli.demo import frame
from geneva_drive.cli.demo.frame import Chapter, Scene
from geneva_drive.cli.demo.processes import WorkerProcess
from geneva_drive.cli.demo.snapshot import WorkflowSnapshot
from tests.cli_demo.snapshots import (
    at,
    batch_worker,
    checked_order,
    execution,
    ledger,
    loop,
    mutations,
    reconciliation,
    refund,
    request,
    snapshot,
    workflow,
)

REFUSED = execution("charge_card", "failed", outcome="reattempted_by_exception")
AGAIN = execution("charge_card", "scheduled", attempt_number=2, scheduled_for=at(1.8))
WAITING = workflow("ready", REFUSED, AGAIN, hero_name="poster")


class Checkout:
    """Charge an order."""

    def charge_card(self) -> None: ...


def test_the_screen_shows_the_chapter_each_workflow_and_the_workers() -> None:
    workers = [_worker("A", was_killed=True), _worker("B")]
    scene = _scene(
        workflow("finished", execution("charge_card"), execution("send_tracking")),
        workflow("performing", execution("charge_card", "in_progress", worker_id="worker-2")),
        WAITING,
        workflow(
            "ready",
            execution("charge_card"),
            execution("send_tracking", "scheduled", scheduled_for=at(5)),
        ),
        workflow("paused", execution("charge_card", "failed", error_message="no such card")),
        workers=workers,
        at=at(1.5),
        leases={"A": at(2.5)},
    )

    assert _printed(frame.draw(_console(), scene)) == [
        "╭─ A title ────────────────────────────────────────────────────────────────────╮",
        "│ What is happening.                                                           │",
        "│ class Checkout:                                                              │",
        '│     """Charge an order."""                                                   │',
        "│   ✗ def charge_card(self) -> None: ...                                       │",
        "╰──────────────────────────────────────────────────────────────────────────────╯",
        " id  workflow         state       steps  attempts  now",
        " 1   Checkout mug     finished    ●●     1         in 1.0 s",
        " 1   Checkout mug     performing  ◉○     1         charge_card on worker B",
        " 1   Checkout poster  ready       ○○     2         charge_card again in 0.3 s",
        " 1   Checkout mug     ready       ●○     1         send_tracking in 2.3 days",
        " 1   Checkout mug     paused      ✗○     1         no such card",
        f"workers   A killed, lease 1.0 s   B (pid {workers[1].pid}) runs 1",
        "steps     ● done   ↷ skipped   ◉ under way   ? waiting   ○ to come   ✗ failed",
    ]


def test_a_workflow_without_executions_is_drawn() -> None:
    assert _printed(frame.workflow_table(snapshot(workflow("ready")), room=1))[1:] == [
        " 1   Checkout mug  ready  ○○     0"
    ]


def test_older_workflows_of_other_types_make_room_for_the_others() -> None:
    older = [
        workflow("finished", REFUSED, id=number, type=name, created_at=at(number))
        for number, name in enumerate(["Signup", "Checkout", "Signup", "Signup"])
    ]

    lines = _printed(frame.workflow_table(snapshot(*older), 3, "Checkout"))

    assert [line.split()[:3] for line in lines[1:]] == [
        ["...", "2", "more"],
        ["1", "Checkout", "mug"],
        ["3", "Signup", "mug"],
    ]


def test_a_screen_of_24_lines_keeps_three_lines_for_the_log() -> None:
    many = [workflow("finished", id=number, finished_at=at(number)) for number in range(30)]

    assert len(_printed(frame.draw(_console(), _scene(*many)))) == 21


def test_a_workflow_that_waits_for_a_person_says_for_whom_and_how_long() -> None:
    asked = refund(
        "paused", execution("approval", "waiting"), request=request("director", expires_at=at(5))
    )

    assert _printed(frame.workflow_table(snapshot(asked), room=1))[1:] == [
        " 1   Refund mug  paused  ?○     1         director, 2.0 days left"
    ]


def test_parallel_steps_are_listed() -> None:
    parallel = checked_order(
        "performing", execution("check_stock", "in_progress"), execution("check_fraud", "scheduled")
    )

    assert frame.doing(parallel, snapshot(parallel)) == "check_stock, check_fraud"


def test_a_finished_workflow_counts_its_recovered_steps() -> None:
    lost = execution("charge_card", "failed", outcome="recovered")
    ended = workflow("finished", lost, execution("charge_card", attempt_number=2))

    assert frame.doing(ended, snapshot(ended)) == "in 1.0 s, 1 recovered"


def test_a_fan_out_has_one_bar_and_one_mark() -> None:
    half = ledger("performing", *mutations(1, 10), *mutations(11, 14, "in_progress"))

    assert _printed(*frame.progress_bars(_console(), _scene(half))) == [
        "close_ledger: 10 of 21 nodes",
        "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━                                        48%",
    ]
    assert list(frame.progress_bars(_console(), _scene(ledger("finished")))) == []
    assert frame.step_marks(half).plain == "◉○"
    assert frame.doing(half, snapshot(half)) == "10 of 21 nodes"
    assert frame.step_marks(ledger("performing", *mutations(1, 20))).plain == "●○"


def test_a_loop_has_a_bar_that_is_red_while_its_worker_is_dead() -> None:
    worker = _worker("A")
    scene = _scene(workflow("performing", loop("in_progress", 25_000, 100_000)), workers=[worker])
    running = _printed(*frame.progress_bars(_console(), scene), colors="standard")
    worker.was_killed = True
    dead = _printed(*frame.progress_bars(_console(), scene), colors="standard")

    assert [Text.from_ansi(line).plain for line in running] == [
        "import_rows: 25,000 of 100,000 items",
        "━━━━━━━━━━━━━━━━━━╺━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  25%",
    ]
    assert [Text.from_ansi(line).plain for line in dead] == [
        Text.from_ansi(line).plain for line in running
    ]
    assert ("\x1b[32m" in running[1], "\x1b[1;31m" in running[1]) == (True, False)
    assert ("\x1b[32m" in dead[1], "\x1b[1;31m" in dead[1]) == (False, True)


def test_each_worker_of_a_batch_has_a_bar() -> None:
    batch = reconciliation(
        "performing",
        batch_worker(1, "completed", 1_900),
        batch_worker(2, "failed", 600, outcome="recovered"),
        batch_worker(3, "in_progress", 1_000, worker_id="worker-2"),
        batch_worker(4, "pending", worker_id=None),
        batch_worker(2, "scheduled", 600, attempt_number=2, worker_id=None),
    )

    assert _printed(*frame.progress_bars(_console(), _scene(batch))) == [
        "add_rows_001  ━━━━━━━━━━━━━━━━━━━━━  2,000 of 2,000 items  completed    worker A",
        "add_rows_002  ━━━━━━                 600 of 2,000 items    scheduled",
        "add_rows_003  ━━━━━━━━━━╸            1,000 of 2,000 items  in_progress  worker B",
        "add_rows_004                                               pending",
    ]
    assert frame.step_marks(batch).plain == "●◉○"
    assert list(frame.progress_bars(_console(), _scene(reconciliation("finished")))) == []


def test_a_paused_batch_says_why_its_worker_failed() -> None:
    failed = batch_worker(1, "failed", 600, error_message="row 7 is damaged")
    batch = reconciliation("paused", failed, batch_worker(2, "completed", 1_900))

    assert frame.doing(batch, snapshot(batch)) == "row 7 is damaged"


def test_without_a_loop_or_a_fan_out_there_is_no_bar() -> None:
    assert list(frame.progress_bars(_console(), _scene(WAITING))) == []


def test_killed_workers_whose_lease_has_ended_share_a_word() -> None:
    killed = [_worker(label, was_killed=True) for label in "ABC"]
    scene = _scene(WAITING, workers=killed, leases={"B": at(3)})

    assert frame.worker_line(scene).plain == "workers   A C killed   B killed, lease 1.0 s"


def _scene(
    *workflows: WorkflowSnapshot, workers: Sequence[WorkerProcess] = (), **given: Any
) -> Scene:
    return Scene(
        chapter=Chapter("A title", "What is happening.", Checkout),
        snapshot=snapshot(*workflows, **given),
        workers=workers,
    )


def _worker(label: str, *, was_killed: bool = False) -> WorkerProcess:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        return WorkerProcess(label, gone, was_killed)


def _console(colors: Literal["standard"] | None = None) -> Console:
    return Console(
        file=io.StringIO(),
        width=80,
        height=24,
        force_terminal=True,
        color_system=colors,
        legacy_windows=False,
        highlight=False,
        _environ={"TERM": "xterm"},
    )


def _printed(*parts: RenderableType, colors: Literal["standard"] | None = None) -> list[str]:
    console = _console(colors)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return [line.rstrip() for line in captured.get().splitlines()]
