"""Laps: a part of the soak is repeated on an empty database until its time is over."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import delete

import geneva_drive as gd
from tests.scenarios.effects import EFFECTS


class Laps:
    """Yields an empty folder for the notes of each lap, and counts what was done in all laps."""

    def __init__(self, drive: gd.Drive, folder: Path, seconds: float) -> None:
        self._drive = drive
        self._folder = folder
        self._seconds = seconds
        self.counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Path]:
        deadline = time.monotonic() + self._seconds
        while not self.counts["laps"] or time.monotonic() < deadline:
            self._empty()
            notes = self._folder / f"lap-{self.counts['laps'] + 1}"
            notes.mkdir()
            yield notes
            self.counts["laps"] += 1

    def count(self, **done: int) -> None:
        self.counts.update(done)

    def _empty(self) -> None:
        store = self._drive.store
        store.write(store.empty)
        with self._drive.engine.begin() as connection:
            connection.execute(delete(EFFECTS))
