"""The application whose processes the scenarios start, kill and race.

`python -m tests.scenarios.app worker QUEUE...` works until SIGTERM; `... app obey` does what each
line on its input says and answers with a line.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import geneva_drive as gd
from geneva_drive.errors import AlreadyRunning, InvalidStateError
from geneva_drive.testing import perform_next_step
from tests.scenarios.effects import EFFECTS
from tests.scenarios.programs import say, stop_at_sigterm


class Order(gd.Workflow):
    """Five short steps, two of which leave an effect exactly once."""

    @gd.step
    def reserve(self) -> None:
        time.sleep(0.1)

    @gd.step(transaction=True)
    def charge(self, session: Any) -> None:
        session.execute(EFFECTS.insert().values(workflow_id=self.id, step="charge"))

    @gd.step
    async def notify(self) -> None: ...

    @gd.step(transaction=True)
    def book(self, session: Any) -> None:
        session.execute(EFFECTS.insert().values(workflow_id=self.id, step="book"))

    @gd.step
    def ship(self) -> None:
        time.sleep(0.1)


class Patient(gd.Workflow):
    """Its first attempt lasts until a file appears; later ones are over at once."""

    @gd.step
    def wait_for_release(self) -> None:
        say(f"begun {self.id}")
        release = Path(self.context["release"])
        while self.attempt == 1 and not release.exists():
            time.sleep(0.02)

    @gd.step
    def go_on(self) -> None: ...


class Narrow(gd.Workflow):
    """One at a time over all workers; its first attempt lasts until a file appears."""

    @gd.step(limit=gd.Limit(key="narrow", concurrency=1))
    def pass_through(self) -> None:
        say(f"begun {self.id}")
        release = Path(self.context["release"])
        while self.attempt == 1 and not release.exists():
            time.sleep(0.02)


class Single(gd.Workflow):
    """One step, to be raced for."""

    @gd.step(transaction=True)
    def work(self, session: Any) -> None:
        session.execute(EFFECTS.insert().values(workflow_id=self.id, step="work"))


class Sleeper(gd.Workflow):
    """Waits an hour before it ends."""

    @gd.step
    def lie_down(self) -> None: ...

    @gd.step(wait=timedelta(hours=1))
    def get_up(self) -> None: ...


class FileClock:
    """A clock that jumps by as many hours as a file says."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(hours=float(self._path.read_text()))


def work(drive: gd.Drive, queues: list[str]) -> None:
    worker = drive.worker(queues=queues or None, concurrency=4)
    stop_at_sigterm(worker)
    say("ready")
    worker.run()
    say("stopped")


def obey(drive: gd.Drive) -> None:
    say("ready")
    for line in sys.stdin:
        command, argument = line.split()
        say(COMMANDS[command](drive, argument))


def create(drive: gd.Drive, hero_id: str) -> str:
    try:
        return f"created {Single.using(drive).create(hero=gd.HeroRef('Visitor', hero_id)).id}"
    except AlreadyRunning as refusal:
        return f"refused {refusal.existing.id}"


def create_once(drive: gd.Drive, key: str) -> str:
    return f"created {Single.using(drive).create(idempotency_key=key).id}"


def give(command: str, done: str, drive: gd.Drive, workflow_id: str) -> str:
    workflow = Single.using(drive).find(workflow_id)
    try:
        getattr(workflow, command)()
    except InvalidStateError as refusal:
        return f"refused {refusal}"
    return f"{done} {workflow.id}"


def perform(drive: gd.Drive, workflow_id: str) -> str:
    performed = perform_next_step(Single.using(drive).find(workflow_id))
    return "nothing" if performed is None else f"performed {performed.id}"


COMMANDS: dict[str, Callable[[gd.Drive, str], str]] = {
    "create": create,
    "create-once": create_once,
    "perform": perform,
    "pause": partial(give, "pause", "paused"),
    "resume": partial(give, "resume", "resumed"),
    "cancel": partial(give, "cancel", "canceled"),
    "skip": partial(give, "skip", "skipped"),
}


def main(role: str, *arguments: str) -> None:
    if role == "worker-by-file-clock":
        path, *queues = arguments
        work(gd.configure(clock=FileClock(Path(path))), queues)
    elif role == "worker":
        work(gd.configure(), list(arguments))
    else:
        obey(gd.configure())


if __name__ == "__main__":
    main(*sys.argv[1:])
