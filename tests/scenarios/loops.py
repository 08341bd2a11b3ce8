"""Two resumable steps over the same records, and the processes that the scenarios kill in them.

`python -m tests.scenarios.loops` works until SIGTERM.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, select

import geneva_drive as gd

FOLDER = "GENEVA_SCENARIO_NOTES"
CHECKPOINT_EVERY = 25
CHUNK = 500
ITEM_SECONDS = 0.0002  # lets the loops take turns, and last for as many kills as are wanted

METADATA = MetaData()
RECORDS = Table(
    "loop_records", METADATA, Column("id", BigInteger, primary_key=True, autoincrement=False)
)
# Nothing here is unique: what is done twice is to be found twice.
DONE = Table(
    "loop_done",
    METADATA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("record_id", BigInteger, nullable=False),
)
INSERT = DONE.insert()

# A worker that logs each step is several times slower.
logging.basicConfig(level=logging.WARNING)


class ExactlyOnce(gd.Workflow):
    """Leaves a row for each record, which commits with the cursor."""

    @gd.resumable_step(checkpoint_every=CHECKPOINT_EVERY, transaction=True)
    def walk(self, it: gd.IterableStep, session: Any) -> None:
        for record in it.iterate_over_records(select(RECORDS), chunk=CHUNK):
            time.sleep(ITEM_SECONDS / 2)  # a row takes as long as the rest of it
            session.execute(INSERT, {"record_id": record.id})


class AtLeastOnce(gd.Workflow):
    """Does something for each record that no rollback undoes."""

    @gd.resumable_step(checkpoint_every=CHECKPOINT_EVERY)
    def walk(self, it: gd.IterableStep) -> None:
        for record in it.iterate_over_records(select(RECORDS), chunk=CHUNK):
            time.sleep(ITEM_SECONDS)
            os.write(_notes(), f"{record.id}\n".encode())


class ExactlyOnceAtIntervals(gd.Workflow):
    """As ExactlyOnce, with rests in which no transaction is open."""

    @gd.resumable_step(checkpoint_every=CHECKPOINT_EVERY, transaction=True)
    def walk(self, it: gd.IterableStep, session: Any) -> None:
        try:
            numbers = at_intervals(it.cursor, self.context["count"])
            for number in it.iterate_over(numbers, with_cursors=True):
                session.execute(INSERT, {"record_id": number})
        finally:
            say("over")


def at_intervals(cursor: int | None, count: int) -> Iterator[tuple[int, int]]:
    """Give numbers from 1 up, of which the first after each checkpoint is long in coming."""
    for number in range((cursor or 0) + 1, count + 1):
        if number % CHECKPOINT_EVERY == 1:
            time.sleep(0.02)
        yield number, number


@cache
def _notes() -> int:
    """Open this process's own file; what is written to it is there, however the process ends."""
    path = Path(os.environ[FOLDER]) / str(os.getpid())
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def work() -> None:
    worker = gd.configure().worker(concurrency=2)

    def stop(number: int, frame: FrameType | None) -> None:
        worker.request_stop()

    signal.signal(signal.SIGTERM, stop)
    worker.run()


if __name__ == "__main__":
    work()
