from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from geneva_drive.cli.demo import frame
from geneva_drive.cli.demo.frame import Scene
from geneva_drive.cli.demo.processes import WorkerProcesses
from geneva_drive.cli.live.screen import Screen
from geneva_drive.testing import perform_next_step
from tests.cli_demo.conftest import Shop


@pytest.fixture
def workers(shop: Shop, tmp_path: Path) -> Iterator[WorkerProcesses]:
    """The worker processes of a demo; none is started."""
    processes = WorkerProcesses(tmp_path, shop.drive.database_url, {})
    yield processes
    processes.close()


def test_in_a_pipe_chapters_notes_and_changes_are_lines(
    shop: Shop, workers: WorkerProcesses
) -> None:
    console = Console(file=io.StringIO(), width=80)
    run = _run(shop, workers, console, None)

    run.say("A title", "What is happening.")
    run.note("It begins")
    _perform_first_step(shop)
    run.play(lambda now: len(now.workflows) == 1, at_least=60)

    assert re.sub(r"\d\.\d s", "0.0 s", _text(console)).splitlines() == [
        "",
        "A title",
        "What is happening.",
        "  0.0 s  It begins",
        "  0.0 s  Checkout mug, charge_card: completed",
    ]


def test_a_terminal_is_redrawn_below_the_log_and_its_cursor_returns(
    shop: Shop, workers: WorkerProcesses
) -> None:
    console = Console(
        file=io.StringIO(),
        width=80,
        height=24,
        force_terminal=True,
        color_system=None,
        _environ={"TERM": "xterm"},
    )
    screen = Screen(console, frame.draw)
    run = _run(shop, workers, console, screen)

    with screen:
        run.say("A title", "What is happening.")
        _perform_first_step(shop)
        run.play(lambda now: True, at_least=0.05)

    told = _text(console)
    log, _, drawn = told.partition("─ A title ─")
    assert "charge_card: completed" in log
    assert "What is happening." in drawn
    assert "print_label" in drawn
    assert told.count("\x1b[?25l") == told.count("\x1b[?25h") == 1


def test_what_goes_on_meanwhile_sees_every_snapshot_that_is_shown(
    shop: Shop, workers: WorkerProcesses
) -> None:
    seen: list[int] = []
    run = _run(shop, workers, Console(file=io.StringIO(), width=80), None)

    run.meanwhile(lambda now: seen.append(len(now.workflows)))
    run.play(lambda _: True)
    shop.order("mug")
    run.play(lambda _: True)

    assert seen == [0, 1]


@dataclass
class SlowTime:
    """The module `time` on a machine on which a hundred seconds pass between two frames."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, _: float) -> None:
        self.now += 100


def test_a_story_that_does_not_end_fails(
    shop: Shop, workers: WorkerProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shop.modules["run"], "time", SlowTime())
    run = _run(shop, workers, Console(file=io.StringIO()), None)

    with pytest.raises(
        shop.modules["run"].DemoFailed, match=r"^It did not end within 10 minutes\.$"
    ):
        run.play(lambda _: False)


def _run(
    shop: Shop, workers: WorkerProcesses, console: Console, screen: Screen[Scene] | None
) -> Any:
    return shop.modules["run"].DemoRun(shop.drive, workers, console, screen, lambda: None)


def _perform_first_step(shop: Shop) -> None:
    shop.add(shop.tables.PaymentProvider(id=1, is_busy=False))
    perform_next_step(shop.order("mug"))


def _text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
