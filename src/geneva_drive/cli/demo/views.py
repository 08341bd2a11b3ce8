"""The demo on a terminal, redrawn as it goes; or as plain lines where there is no terminal."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from geneva_drive.cli.demo import changes, frame
from geneva_drive.cli.demo.changes import News
from geneva_drive.cli.demo.frame import Scene
from geneva_drive.cli.demo.processes import WorkerProcess
from geneva_drive.cli.demo.snapshot import Snapshot

_SMALLEST_WIDTH = 70
_SMALLEST_HEIGHT = 24
_BETWEEN_NOTES = timedelta(seconds=1)


class PlainView:
    """Prints a line for each thing that happens: for pipes, logs and small windows."""

    pace = 0.0  # nobody watches, so that nobody needs time to read

    def __init__(self, console: Console, started_at: datetime) -> None:
        self._console = console
        self._started_at = started_at
        self._last: Snapshot | None = None
        self._noted_at: datetime | None = None

    def say(self, title: str, text: str) -> None:
        self._console.print()
        self._console.print(Text(title, "bold"))
        self._console.print(Text(text))

    def note(self, line: News) -> None:
        self._console.print(frame.log_line(line, self._started_at), soft_wrap=True)

    def show(self, snapshot: Snapshot, crew: Sequence[WorkerProcess]) -> None:
        for line in changes.between(self._last, snapshot):
            self.note(line)
        self._note_progress(snapshot, {worker.label for worker in crew if not worker.was_killed})
        self._last = snapshot

    def _note_progress(self, snapshot: Snapshot, alive: Set[str]) -> None:
        words = _fan_out_progress(snapshot) or _loop_progress(snapshot, alive)
        if words is None:
            return
        if self._noted_at is not None and snapshot.at - self._noted_at < _BETWEEN_NOTES:
            return
        self._noted_at = snapshot.at
        self.note(News(snapshot.at, words, "dim"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass


def _loop_progress(snapshot: Snapshot, alive: Set[str]) -> str | None:
    loop = snapshot.loop
    if loop is None or loop.finished_at is not None or snapshot.label_of(loop) not in alive:
        return None
    return f"{loop.step_name}: {frame.loop_words(loop)}"


def _fan_out_progress(snapshot: Snapshot) -> str | None:
    workflow = snapshot.fan_out
    if workflow is None or workflow.finished_at is not None:
        return None
    return f"{workflow.title}: {frame.nodes_words(workflow)}"


class LiveView:
    """Draws the whole terminal, and gives it back as it was."""

    pace = 1.0

    def __init__(self, console: Console, started_at: datetime) -> None:
        self._console = console
        self._started_at = started_at
        self._last: Snapshot | None = None
        self._log: list[News] = []
        self._title, self._text = "", ""
        self._live = Live(console=console, screen=True, auto_refresh=False)

    def say(self, title: str, text: str) -> None:
        self._title, self._text = title, text

    def note(self, line: News) -> None:
        self._log.append(line)

    def show(self, snapshot: Snapshot, crew: Sequence[WorkerProcess]) -> None:
        self._log = sorted(
            [*self._log, *changes.between(self._last, snapshot)], key=lambda line: line.at
        )
        self._last = snapshot
        scene = Scene(
            title=self._title,
            text=self._text,
            snapshot=snapshot,
            crew=crew,
            log=self._log,
            started_at=self._started_at,
        )
        self._live.update(frame.frame(self._console, scene), refresh=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.__exit__(error_type, error, traceback)


View = PlainView | LiveView


def for_console(console: Console, started_at: datetime) -> View:
    is_roomy = console.width >= _SMALLEST_WIDTH and console.height >= _SMALLEST_HEIGHT
    if console.is_terminal and not console.is_dumb_terminal and is_roomy:
        return LiveView(console, started_at)
    return PlainView(console, started_at)
