"""Two resumable steps over the same records, and the processes that the scenarios kill in them.

`python -m tests.scenarios.loops` works until SIGTERM.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, MetaData, Table, select

import geneva_drive as gd
from tests.scenarios.programs import notes, say, work

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
            os.write(notes(), f"{record.id}\n".encode())


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


if __name__ == "__main__":
    work(concurrency=2)
