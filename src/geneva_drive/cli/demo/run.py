"""Where the story is told: a Drive, its workers, and an audience."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import geneva_drive as gd
from geneva_drive.cli.demo.changes import News
from geneva_drive.cli.demo.observer import Observer
from geneva_drive.cli.demo.processes import Crew
from geneva_drive.cli.demo.snapshot import Kill, Snapshot
from geneva_drive.cli.demo.views import View

_FRAME_SECONDS = 0.1
# Far more than the story takes: past it, something hangs.
_LONGEST_SECONDS = 180


class DemoFailed(Exception):
    """The story cannot go on; the message says why."""


class Stage:
    """Shows what the database holds until the story may go on."""

    def __init__(
        self, drive: gd.Drive, crew: Crew, view: View, stop_if_asked: Callable[[], None]
    ) -> None:
        self.drive = drive
        self.crew = crew
        self.observer = Observer(drive)
        self._view = view
        self._stop_if_asked = stop_if_asked
        self._ends_at = time.monotonic() + _LONGEST_SECONDS

    def say(self, title: str, text: str) -> None:
        self._view.say(title, text)

    def pace(self, span: timedelta) -> timedelta:
        """Shorten a wait that is only there to be watched."""
        return span * self._view.pace

    def note(self, text: str, style: str = "bold") -> None:
        self._view.note(News(self.drive.clock.now(), text, style))

    def look(self) -> Snapshot:
        return self.observer.look(self.crew.workers)

    def start_worker(self, label: str) -> None:
        worker = self.crew.start(label)
        self.note(f"Worker {label} is pid {worker.pid}")

    def kill_worker(self, label: str) -> Kill:
        worker = self.crew.kill(label)
        self.note(f"kill -9 {worker.pid}: worker {label} is gone", "bold red")
        # It is dead and its lease still runs: nobody changes now what it held.
        snapshot = self.look()
        held = [e for e in snapshot.running if snapshot.label_of(e) == label]
        return Kill(pid=worker.pid, held_ids=frozenset(e.id for e in held))

    def play(self, until: Callable[[Snapshot], bool], *, at_least: float = 0.0) -> Snapshot:
        """Show what goes on until the condition holds, and long enough to be read."""
        earliest = time.monotonic() + at_least * self._view.pace
        while True:
            snapshot = self.look()
            self._view.show(snapshot, self.crew.workers)
            if until(snapshot) and time.monotonic() >= earliest:
                return snapshot
            self._stop_if_asked()
            self._check()
            time.sleep(_FRAME_SECONDS)

    def _check(self) -> None:
        lost = self.crew.lost()
        if lost is not None:
            raise DemoFailed(
                f"Worker {lost.label} ended by itself, with exit code {lost.process.returncode}."
            )
        if time.monotonic() > self._ends_at:
            raise DemoFailed(f"The story did not end within {_LONGEST_SECONDS} seconds.")
