"""The actions of a story: start and kill workers, and show the database until it may continue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text

import geneva_drive as gd
from geneva_drive.cli.demo import changes
from geneva_drive.cli.demo.changes import LogLine
from geneva_drive.cli.demo.code_listing import Code
from geneva_drive.cli.demo.frame import Chapter, Scene
from geneva_drive.cli.demo.observer import DemoObserver
from geneva_drive.cli.demo.processes import WorkerProcesses
from geneva_drive.cli.demo.snapshot import Kill, Snapshot
from geneva_drive.cli.live.screen import Screen

_FRAME_SECONDS = 0.1
_MOST_SECONDS = 600  # on a busy machine, the story may take minutes


class DemoFailed(Exception):
    """The story cannot continue; the message says why."""


class DemoRun:
    """One run of the demo: its database, its workers, and its screen."""

    def __init__(
        self,
        drive: gd.Drive,
        workers: WorkerProcesses,
        console: Console,
        screen: Screen[Scene] | None,  # None: only the log is printed
        stop_if_asked: Callable[[], None],
    ) -> None:
        self.drive = drive
        self.observer = DemoObserver(drive)
        self._workers = workers
        self._console = console
        self._screen = screen
        self._stop_if_asked = stop_if_asked
        self._started_at = drive.clock.now()
        self._give_up_at = time.monotonic() + _MOST_SECONDS
        self._chapter = Chapter()
        self._meanwhile: Callable[[Snapshot], object] = lambda _: None
        self._last: Snapshot | None = None

    def say(self, title: str, text: str, code: Code | None = None) -> None:
        """Begin a chapter; without `code`, the code of the last chapter stays on the screen."""
        self._chapter = Chapter(title, text, code or self._chapter.code)
        self._console.print(Text(f"\n{title}", "bold"))
        if self._screen is None:
            self._console.print(Text(text))

    def note(self, text: str, style: str = "bold") -> None:
        self._print([LogLine(self.drive.clock.now(), text, style)])

    def _print(self, lines: Iterable[LogLine]) -> None:
        texts = [
            Text.assemble(
                (f"{(line.at - self._started_at).total_seconds():5.1f} s  ", "dim"),
                (line.text, line.style),
            )
            for line in lines
        ]
        if texts:
            # All at once: the screen below is redrawn with each call.
            self._console.print(Text("\n").join(texts), soft_wrap=self._screen is None)

    def look(self) -> Snapshot:
        return self.observer.look(self._workers.labels_by_pid())

    def start_worker(self, label: str, concurrency: int = 4) -> None:
        worker = self._workers.start(label, concurrency)
        self.note(f"Worker {label} is pid {worker.pid}")

    def kill_worker(self, choose: Callable[[Snapshot], str | None]) -> Kill:
        """Kill the worker that `choose` returns, once it returns one."""
        while True:
            label = choose(self.play(lambda now: choose(now) is not None)) or ""
            # A stopped worker cannot complete its steps between the look and the kill.
            with self._workers.stopped(label) as worker:
                snapshot = self.look()
                if choose(snapshot) == label:
                    worker.kill()
            if worker.was_killed:
                self.note(f"kill -9 {worker.pid}: worker {label} is dead", "bold red")
                held = frozenset(execution.id for execution in snapshot.running_on(label))
                return Kill(label=label, held_ids=held)

    def meanwhile(self, act: Callable[[Snapshot], object]) -> None:
        """Call `act` with every snapshot from now on, whatever the chapter."""
        self._meanwhile = act

    def play(self, until: Callable[[Snapshot], bool], *, at_least: float = 0.0) -> Snapshot:
        """Show the database until the condition holds, and for `at_least` seconds, to be read."""
        earliest = time.monotonic() + (at_least if self._screen else 0)
        while True:
            snapshot = self.look()
            self._show(snapshot)
            self._meanwhile(snapshot)
            if until(snapshot) and time.monotonic() >= earliest:
                return snapshot
            self._stop_if_asked()
            self._check()
            time.sleep(_FRAME_SECONDS)

    def _show(self, snapshot: Snapshot) -> None:
        self._print(changes.between(self._last, snapshot))
        self._last = snapshot
        if self._screen is not None:
            scene = Scene(chapter=self._chapter, snapshot=snapshot, workers=self._workers.all)
            self._screen.show(scene)

    def _check(self) -> None:
        ended = self._workers.unexpected_end()
        if ended is not None:
            raise DemoFailed(
                f"Worker {ended.label} ended by itself, with exit code {ended.process.returncode}."
            )
        if time.monotonic() > self._give_up_at:
            raise DemoFailed(f"It did not end within {_MOST_SECONDS // 60} minutes.")
