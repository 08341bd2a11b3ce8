from __future__ import annotations

import io
import subprocess
import sys
from datetime import datetime
from typing import Literal

from rich.console import Console
from rich.text import Text

from geneva_drive.cli.demo import changes, frame, views
from geneva_drive.cli.demo.changes import News
from geneva_drive.cli.demo.processes import WorkerProcess
from geneva_drive.cli.demo.snapshot import Snapshot
from tests.cli_demo.snapshots import (
    START,
    at,
    checked_order,
    execution,
    ledger,
    loop,
    mutations,
    snapshot,
    workflow,
)

REFUSED = execution(
    "charge_card",
    "failed",
    outcome="reattempted_by_exception",
    error_message="429 Too Many Requests",
)
AGAIN = execution("charge_card", "scheduled", attempt_number=2, scheduled_for=at(1.8))


def test_news_are_what_the_snapshot_before_did_not_have() -> None:
    before = snapshot(workflow("ready", REFUSED, AGAIN))
    after = snapshot(
        workflow(
            "paused",
            REFUSED,
            execution(
                "charge_card",
                "failed",
                attempt_number=2,
                scheduled_for=at(1.8),
                finished_at=at(1.9),
                outcome="paused_by_exception",
                error_message="no such card",
            ),
        )
    )

    assert changes.between(None, before) == [
        News(at(1), "Checkout mug, charge_card: 429 Too Many Requests; again in 0.8 s", "yellow")
    ]
    assert changes.between(before, after) == [
        News(at(1.9), "Checkout mug, charge_card: no such card; workflow paused", "red")
    ]


def test_a_lost_step_is_told_with_both_of_its_workers() -> None:
    lost = execution("charge_card", "failed", outcome="recovered")
    successor = execution(
        "charge_card", "in_progress", attempt_number=2, worker_id="worker-2", started_at=at(1.1)
    )

    told = changes.between(None, snapshot(workflow("performing", lost, successor)))

    assert [line.text for line in told] == [
        "Checkout mug, charge_card: lost with worker A",
        "Checkout mug, charge_card: taken over by worker B",
    ]


def test_a_lost_loop_is_told_with_how_far_it_had_come() -> None:
    lost = loop("failed", 30_500, 100_000, outcome="recovered")
    successor = loop(
        "in_progress",
        31_900,
        100_000,
        attempt_number=2,
        worker_id="worker-2",
        started_at=at(1.1),
        finished_at=None,
    )

    told = changes.between(None, snapshot(workflow("performing", lost, successor)))

    assert [line.text for line in told] == [
        "Checkout mug, import_rows: lost with worker A after 30,500 items",
        "Checkout mug, import_rows: taken over by worker B, which goes on behind item 30,500",
    ]


def test_the_end_of_the_last_step_is_the_end_of_the_workflow() -> None:
    skipped = execution("charge_card", "skipped", outcome="skipped_by_condition")
    last = execution("send_tracking", finished_at=at(1.5))

    told = changes.between(None, snapshot(workflow("finished", skipped, last)))

    assert [line.text for line in told] == [
        "Checkout mug, charge_card: skipped",
        "Checkout mug, send_tracking: completed; workflow finished",
    ]


def test_of_nodes_that_run_at_once_each_has_its_own_next_attempt() -> None:
    order = checked_order(
        "performing",
        execution("validate", id=1, finished_at=at(0.5)),
        execution("check_stock", "failed", id=2, outcome="recovered"),
        execution(
            "check_fraud",
            "failed",
            id=3,
            finished_at=at(1.5),
            outcome="reattempted_by_exception",
            error_message="no answer",
        ),
        execution("check_stock", "in_progress", id=4, worker_id="worker-2", started_at=at(1.2)),
        execution("check_fraud", "scheduled", id=5, scheduled_for=at(2)),
    )

    told = changes.between(None, snapshot(order))

    assert [line.text for line in told] == [
        "CheckedOrder wine, validate: completed",
        "CheckedOrder wine, check_stock: lost with worker A",
        "CheckedOrder wine, check_stock: taken over by worker B",
        "CheckedOrder wine, check_fraud: no answer; again in 0.5 s",
    ]


def test_many_nodes_are_told_together() -> None:
    lost = mutations(1, 3, "failed", outcome="recovered", finished_at=at(1.5))
    again = mutations(1, 3, attempt_number=2, finished_at=at(1.8))
    last = execution("aggregate", id=30, started_at=at(1.8), finished_at=at(1.9))

    told = changes.between(
        None, snapshot(ledger("finished", *lost, *mutations(4, 20), *again, last))
    )

    assert [line.text for line in told] == [
        "close_ledger April: 3 nodes taken back from worker A, run elsewhere",
        "close_ledger April: all 20 nodes completed",
        "close_ledger April, aggregate: completed; workflow finished",
    ]


def test_a_branch_that_was_not_chosen_is_no_news() -> None:
    passed = execution("charge_card", "skipped", outcome="skipped_by_branch")

    assert changes.between(None, snapshot(workflow("ready", passed))) == []


def test_a_graph_is_drawn_level_by_level_while_it_runs() -> None:
    console, screen = _terminal(width=80, height=24)
    order = checked_order(
        "performing",
        execution("validate"),
        execution("check_stock", "waiting"),
        execution("check_fraud", "failed"),
        execution("check_fraud", "in_progress", attempt_number=2),
    )

    console.print(*frame.graph_grid(snapshot(order), ascii_only=False))

    assert [line.rstrip() for line in screen.getvalue().splitlines()] == [
        " ● validate ◉ check_stock    ○ charge",
        "            ◉ check_fraud x2",
    ]
    assert list(frame.graph_grid(snapshot(checked_order("finished")), ascii_only=False)) == []


def test_a_fan_out_has_a_bar_and_one_mark() -> None:
    console, screen = _terminal(width=60, height=24)
    half = ledger("performing", *mutations(1, 10), *mutations(11, 14, "in_progress"))

    console.print(*frame.fan_out_line(snapshot(half)))

    assert screen.getvalue() == " close_ledger ━━━━━━━━━━━━━━                 10 of 21 nodes \n"
    assert frame.step_marks(half, ascii_only=False).plain == "◉○"
    assert frame.doing(half, snapshot(half)) == "10 of 21 nodes"
    assert frame.fan_out_line(snapshot(workflow("ready", REFUSED, AGAIN))) == []


def test_what_runs_at_once_is_listed_and_a_node_with_a_child_waits() -> None:
    at_once = checked_order(
        "performing", execution("check_stock", "in_progress"), execution("check_fraud", "scheduled")
    )
    waiting = checked_order("ready", execution("charge", "waiting"))

    assert frame.doing(at_once, snapshot(at_once)) == "check_stock, check_fraud"
    assert frame.doing(waiting, snapshot(waiting)) == "charge waits for its workflow"


def test_workflows_that_ended_first_make_room_for_the_others() -> None:
    console, screen = _terminal(width=80, height=24)
    ended = [
        workflow("finished", REFUSED, id=number, hero_name=f"mug {number}", finished_at=at(number))
        for number in (1, 3, 2)
    ]
    going = workflow("ready", REFUSED, AGAIN, id=4, hero_name="poster")

    console.print(frame.workflow_table(snapshot(*ended, going), ascii_only=True, room=4))

    assert [line.split()[:3] for line in screen.getvalue().splitlines()[1:]] == [
        ["...", "2", "ended"],
        ["Checkout", "mug", "3"],
        ["Checkout", "poster", "ready"],
    ]


def test_an_end_is_told_when_its_last_step_is_seen() -> None:
    early = workflow("finished", execution("charge_card"))

    told = changes.between(None, snapshot(early))

    assert [line.text for line in told] == ["Checkout mug, charge_card: completed"]


def test_a_terminal_shows_each_workflow_its_workers_and_the_newest_lines() -> None:
    console, screen = _terminal(width=80, height=24)
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        crew = [WorkerProcess("A", gone, was_killed=True), WorkerProcess("B", gone)]
        seen = snapshot(
            workflow("finished", execution("charge_card"), execution("send_tracking")),
            workflow("performing", execution("charge_card", "in_progress", worker_id="worker-2")),
            workflow("ready", REFUSED, AGAIN, hero_name="poster"),
            workflow(
                "ready",
                execution("charge_card"),
                execution("send_tracking", "scheduled", scheduled_for=at(5)),
            ),
            workflow("paused", execution("charge_card", "failed", error_message="no such card")),
            at=at(1.5),
            leases={"A": at(2.5)},
        )
        log = [News(at(number), f"line {number}") for number in range(40)]
        scene = frame.Scene(
            title="A title",
            text="What is happening.",
            snapshot=seen,
            crew=crew,
            log=log,
            started_at=START,
        )

    console.print(frame.frame(console, scene))

    lines = [line.rstrip() for line in screen.getvalue().splitlines()]
    assert lines == [
        " GenevaDrive demo   one SQLite file              a day lasts 1.5 s here    1.5 s",
        "╭─ A title ────────────────────────────────────────────────────────────────────╮",
        "│ What is happening.                                                           │",
        "│                                                                              │",
        "│                                                                              │",
        "╰──────────────────────────────────────────────────────────────────────────────╯",
        " workflow  hero    state       steps  attempts  now",
        " Checkout  mug     finished    ●●            1  took 1.0 s",
        " Checkout  mug     performing  ◉○            1  charge_card on worker B",
        " Checkout  poster  ready       ○○            2  charge_card again in 0.3 s",
        " Checkout  mug     ready       ●○            1  send_tracking in 2.3 days",
        " Checkout  mug     paused      ✗○            1  no such card",
        f" workers   A killed, lease ends in 1.0 s   B (pid {gone.pid}) runs 1",
        *[f" {number:4.1f} s  line {number}" for number in range(30, 40)],
    ]


def test_a_loop_has_a_bar_that_is_red_while_its_worker_is_dead() -> None:
    console, screen = _terminal(width=60, height=24, colors="standard")
    seen = snapshot(workflow("performing", loop("in_progress", 25_000, 100_000)))
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        worker = WorkerProcess("A", gone)
        console.print(*frame.loop_line(seen, [worker]))
        worker.was_killed = True
        console.print(*frame.loop_line(seen, [worker]))

    running, dead = screen.getvalue().splitlines()
    assert Text.from_ansi(running).plain == (
        " import_rows ━━━━━╸━━━━━━━━━━━━━━━━ 25,000 of 100,000 items "
    )
    assert Text.from_ansi(dead).plain == Text.from_ansi(running).plain
    assert ("\x1b[32m" in running, "\x1b[1;31m" in running) == (True, False)
    assert ("\x1b[32m" in dead, "\x1b[1;31m" in dead) == (False, True)


def test_without_a_loop_there_is_no_bar() -> None:
    assert list(frame.loop_line(snapshot(workflow("ready", REFUSED, AGAIN)), [])) == []


def test_a_killed_worker_whose_lease_is_over_is_only_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        crew = [WorkerProcess("A", gone, was_killed=True)]

    line = frame.worker_line(snapshot(workflow("ready", REFUSED, AGAIN)), crew)

    assert line.plain == " workers   A killed"


def test_without_a_terminal_progress_is_a_line_at_most_once_a_second() -> None:
    console, screen = _terminal(width=80, height=10)
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        crew = [WorkerProcess("A", gone)]

    with views.for_console(console, START) as shown:
        shown.show(_importing(10, at(1)), crew)
        shown.show(_importing(15, at(1.5)), crew)
        shown.show(_importing(20, at(2)), crew)
        crew[0].was_killed = True
        shown.show(_importing(20, at(4)), crew)

    assert screen.getvalue().splitlines() == [
        "  1.0 s  import_rows: 10 of 100 items",
        "  2.0 s  import_rows: 20 of 100 items",
    ]


def test_without_a_terminal_a_fan_out_is_a_line_at_most_once_a_second() -> None:
    console, screen = _terminal(width=80, height=10)
    some, more = ledger("performing", *mutations(1, 4)), ledger("performing", *mutations(1, 9))

    with views.for_console(console, START) as shown:
        shown.show(snapshot(some, at=at(1)), [])
        shown.show(snapshot(more, at=at(1.5)), [])
        shown.show(snapshot(more, at=at(2)), [])
        shown.show(snapshot(ledger("finished", *mutations(1, 9)), at=at(4)), [])

    assert screen.getvalue().splitlines() == [
        "  1.0 s  close_ledger April: 4 of 21 nodes",
        "  2.0 s  close_ledger April: 9 of 21 nodes",
    ]


def _importing(done: int, moment: datetime) -> Snapshot:
    return snapshot(workflow("performing", loop("in_progress", done, 100)), at=moment)


def test_a_terminal_is_redrawn_and_given_back() -> None:
    console, screen = _terminal(width=80, height=24)

    with views.for_console(console, START) as shown:
        shown.say("A title", "What is happening.")
        shown.note(News(at(0), "It begins"))
        shown.show(snapshot(workflow("ready", REFUSED, AGAIN)), [])

    drawn = screen.getvalue()
    assert isinstance(shown, views.LiveView)
    assert "A title" in drawn
    assert "It begins" in drawn
    assert "429 Too Many Requests; again in 0.8 s" in drawn
    assert "\x1b[?1049h" in drawn
    assert drawn.rpartition("\x1b[?1049l")[2].isprintable()


def test_a_window_that_is_too_small_gets_plain_lines() -> None:
    console, screen = _terminal(width=80, height=10)

    with views.for_console(console, START) as shown:
        shown.say("A title", "What is happening.")
        shown.show(snapshot(workflow("ready", REFUSED, AGAIN)), [])

    assert screen.getvalue().splitlines() == [
        "",
        "A title",
        "What is happening.",
        "  1.0 s  Checkout mug, charge_card: 429 Too Many Requests; again in 0.8 s",
    ]


def test_marks_are_ascii_where_nothing_else_can_be_written() -> None:
    done = workflow("ready", execution("charge_card"), execution("send_tracking", "failed"))

    assert frame.step_marks(done, ascii_only=True).plain == "#x"


def _terminal(
    *, width: int, height: int, colors: Literal["standard"] | None = None
) -> tuple[Console, io.StringIO]:
    screen = io.StringIO()
    console = Console(
        file=screen,
        width=width,
        height=height,
        force_terminal=True,
        color_system=colors,
        legacy_windows=False,
        _environ={"TERM": "xterm"},
    )
    return console, screen
