from __future__ import annotations

import io
import subprocess
import sys

from rich.console import Console

from geneva_drive.cli.demo import drawing, news, view
from geneva_drive.cli.demo.crew import WorkerProcess
from geneva_drive.cli.demo.news import News
from tests.cli_demo.snapshots import START, at, execution, snapshot, workflow

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

    assert news.between(None, before) == [
        News(at(1), "Checkout mug, charge_card: 429 Too Many Requests; again in 0.8 s", "yellow")
    ]
    assert news.between(before, after) == [
        News(at(1.9), "Checkout mug, charge_card: no such card; workflow paused", "red")
    ]


def test_a_lost_step_is_told_with_both_of_its_workers() -> None:
    lost = execution("charge_card", "failed", outcome="recovered")
    successor = execution(
        "charge_card", "in_progress", attempt_number=2, worker_id="worker-2", started_at=at(1.1)
    )

    told = news.between(None, snapshot(workflow("performing", lost, successor)))

    assert [line.text for line in told] == [
        "Checkout mug, charge_card: lost with worker A",
        "Checkout mug, charge_card: taken over by worker B",
    ]


def test_the_end_of_the_last_step_is_the_end_of_the_workflow() -> None:
    skipped = execution("charge_card", "skipped", outcome="skipped_by_condition")
    last = execution("send_tracking", finished_at=at(1.5))

    told = news.between(None, snapshot(workflow("finished", skipped, last)))

    assert [line.text for line in told] == [
        "Checkout mug, charge_card: skipped",
        "Checkout mug, send_tracking: completed; workflow finished",
    ]


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
        scene = drawing.Scene(
            title="A title",
            text="What is happening.",
            snapshot=seen,
            crew=crew,
            log=log,
            started_at=START,
        )

    console.print(drawing.frame(console, scene))

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
        f" workers   A (pid {gone.pid}) killed, lease ends in 1.0 s   B (pid {gone.pid}) runs 1",
        *[f" {number:4.1f} s  line {number}" for number in range(30, 40)],
    ]


def test_a_terminal_is_redrawn_and_given_back() -> None:
    console, screen = _terminal(width=80, height=24)

    with view.for_console(console, START) as shown:
        shown.say("A title", "What is happening.")
        shown.note(News(at(0), "It begins"))
        shown.show(snapshot(workflow("ready", REFUSED, AGAIN)), [])

    drawn = screen.getvalue()
    assert isinstance(shown, view.LiveView)
    assert "A title" in drawn
    assert "It begins" in drawn
    assert "429 Too Many Requests; again in 0.8 s" in drawn
    assert "\x1b[?1049h" in drawn
    assert drawn.rpartition("\x1b[?1049l")[2].isprintable()


def test_a_window_that_is_too_small_gets_plain_lines() -> None:
    console, screen = _terminal(width=80, height=10)

    with view.for_console(console, START) as shown:
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

    assert drawing.step_marks(done, ascii_only=True).plain == "#x"


def _terminal(*, width: int, height: int) -> tuple[Console, io.StringIO]:
    screen = io.StringIO()
    console = Console(
        file=screen,
        width=width,
        height=height,
        force_terminal=True,
        color_system=None,
        legacy_windows=False,
        _environ={"TERM": "xterm"},
    )
    return console, screen
