"""W6: loops of resumable steps whose bodies do nothing, run by a worker in this process."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Integer, MetaData, String, Table, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped

import geneva_drive as gd
from benchmarks import places

CHUNK = 1_000
SETTLED = 100_000  # items after which memory is looked at for the first time
TIME_LIMIT = 900.0

METADATA = MetaData()
RECORDS = Table(
    "bench_records",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", String(50), nullable=False),
    Column("amount", Integer, nullable=False),
)


class Base(DeclarativeBase):
    metadata = METADATA


class Record(Base):
    """A record as most programs read it."""

    __table__ = RECORDS
    id: Mapped[int]


# Six digits each in turn: MariaDB may refuse a recursion that is as deep as there are records.
_LOAD = text(
    "INSERT INTO bench_records (id, name, amount) "
    f"WITH digits (d) AS ({' UNION ALL '.join(f'SELECT {digit}' for digit in range(10))}), "
    "numbers (id) AS (SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d "
    "+ 100000 * g.d FROM digits a, digits b, digits c, digits e, digits f, digits g) "
    "SELECT id, 'a name of some length', id FROM numbers WHERE id <= :count ORDER BY id"
)
_PAGE = os.sysconf("SC_PAGE_SIZE")
_figures: queue.SimpleQueue[float] = queue.SimpleQueue()  # from the bodies


class EachItem(gd.Workflow):
    """Saves its position after each item; gives seconds."""

    @gd.resumable_step
    def walk(self, it: gd.IterableStep) -> None:
        began = time.perf_counter()
        for _ in it.iterate_over(range(self.context["items"])):
            pass
        _figures.put(time.perf_counter() - began)


class EachHundred(gd.Workflow):
    """Saves its position after every 100 items; gives seconds."""

    @gd.resumable_step(checkpoint_every=100)
    def walk(self, it: gd.IterableStep) -> None:
        began = time.perf_counter()
        for _ in it.iterate_over(range(self.context["items"])):
            pass
        _figures.put(time.perf_counter() - began)


class EachHundredRecords(gd.Workflow):
    """Reads records, and saves its position after every 100; gives seconds."""

    @gd.resumable_step(checkpoint_every=100)
    def walk(self, it: gd.IterableStep) -> None:
        query = select(RECORDS).where(RECORDS.c.id <= self.context["items"])
        began = time.perf_counter()
        for _ in it.iterate_over_records(query, chunk=CHUNK):
            pass
        _figures.put(time.perf_counter() - began)


class EachHundredEntities(gd.Workflow):
    """Reads records as objects, and saves its position after every 100; gives seconds."""

    @gd.resumable_step(checkpoint_every=100)
    def walk(self, it: gd.IterableStep) -> None:
        query = select(Record).where(RECORDS.c.id <= self.context["items"])
        began = time.perf_counter()
        for _ in it.iterate_over_records(query, chunk=CHUNK):
            pass
        _figures.put(time.perf_counter() - began)


class ManyItems(gd.Workflow):
    """Goes through more items than memory could hold; gives bytes that the process grew by."""

    @gd.resumable_step(checkpoint_every=10_000)
    def walk(self, it: gd.IterableStep) -> None:
        settled = 0
        for number in it.iterate_over(range(self.context["items"])):
            if number == SETTLED:
                settled = _resident_bytes()
        _figures.put(_resident_bytes() - settled)


class Resumed(gd.Workflow):
    """Goes on after a record; gives the seconds from the body's start to the next one."""

    @gd.resumable_step
    def walk(self, it: gd.IterableStep) -> None:
        began = time.perf_counter()
        if not it.resumed:
            it.skip_to(self.context["after"])
        for _ in it.iterate_over_records(select(RECORDS), chunk=CHUNK):
            _figures.put(time.perf_counter() - began)
            break


@contextmanager
def at_work(database: str) -> Iterator[gd.Drive]:
    """Give a Drive on a fresh database, whose worker runs in this process with all defaults."""
    with prepared(database) as drive, drive.worker():
        yield drive


@contextmanager
def prepared(database: str) -> Iterator[gd.Drive]:
    with places.fresh(database) as url:
        drive = gd.Drive(url)
        try:
            drive.migrate()
            yield drive
        finally:
            drive.close()


def load(drive: gd.Drive, count: int) -> None:
    METADATA.create_all(drive.engine)
    with drive.engine.begin() as connection:
        connection.execute(_LOAD, {"count": count})
    # As of any table that was not loaded this minute, the database knows how large it is.
    verb = "ANALYZE TABLE" if drive.engine.dialect.name in ("mysql", "mariadb") else "ANALYZE"
    with drive.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"{verb} {RECORDS.name}"))


def run(drive: gd.Drive, workflow: type[gd.Workflow], **context: Any) -> float:
    """Let a worker run a workflow; give the figure that its body gives."""
    handle = workflow.using(drive).create(context=context)
    try:
        return _figures.get(timeout=TIME_LIMIT)
    except queue.Empty:
        raise TimeoutError(f"{handle!r} gave no figure: {handle.reload().why()}") from None


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
