"""A ledger of the bodies that ran, in files that share nothing with the database.

Each process of the load appends to a file of its own. The clock is the machine's monotonic one,
which is the same for all processes.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.scenarios.programs import notes

_numbers = itertools.count(1)

Body = tuple[str, str]  # the key of a workflow, and the name of one of its bodies or items


@dataclass(frozen=True, slots=True)
class BodyRun:
    """One run of a body; without an end if it raised, or still runs."""

    began: float
    ended: float | None


class Ledger:
    """What the processes have noted so far."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ended_count(self) -> int:
        return sum(path.read_bytes().count(b" end ") for path in self._folder.iterdir())

    def runs(self) -> dict[Body, list[BodyRun]]:
        """Return the runs of each body, in the order in which they began."""
        found: dict[Body, list[BodyRun]] = defaultdict(list)
        for path in self._folder.iterdir():
            began: dict[str, float] = {}
            bodies: dict[str, Body] = {}
            ended: dict[str, float] = {}
            for line in path.read_text().splitlines():
                at, event, number, key, body = line.split()
                bodies[number] = (key, body)
                (began if event == "begin" else ended)[number] = float(at)
            for number, started in began.items():
                found[bodies[number]].append(BodyRun(started, ended.get(number)))
        return {body: sorted(runs, key=lambda run: run.began) for body, runs in found.items()}


@contextmanager
def noted(key: str, body: str) -> Iterator[None]:
    """Note when a body begins and when it ends; a body that raises has no end."""
    number = next(_numbers)
    _write("begin", number, key, body)
    yield
    _write("end", number, key, body)


def _write(event: str, number: int, key: str, body: str) -> None:
    os.write(notes(), f"{time.monotonic():.6f} {event} {number} {key} {body}\n".encode())
