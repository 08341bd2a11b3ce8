"""W6, the floors: the same rows written by the bare driver, and read by a bare loop."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial

import psycopg
import pymysql
from sqlalchemy import Engine, make_url, select
from sqlalchemy.orm import Session

from benchmarks.measures import Figures
from benchmarks.scale import Scale
from benchmarks.workloads import loop_app as app

# On the library's own table and a real row of it, as its width and indexes are part of the price:
# the two columns that tell where a loop stands, without the claim's guard.
_UPDATE = (
    "UPDATE geneva_drive_step_executions SET {cursor} = {mark}, completed_iterations = {mark} "
    "WHERE id = {mark}"
)
_WARM_UP = 100
_SAVED_EVERY = 100

Update = Callable[[tuple[str, int, int]], object]


def measure(database: str, scale: Scale) -> Figures:
    """Give the rates of single-row updates, each committed, and of reading by key."""
    with app.prepared(database) as drive:
        workflow = app.EachItem.using(drive).create(context={"items": 1})
        url = drive.engine.url.render_as_string(hide_password=False)
        with _OPEN[database](url) as update:
            row, checkpoints = workflow.step_executions[0].id, scale.checkpoints_on(database)
            _updates_per_second(update, row, _WARM_UP)
            for _ in range(scale.turns):
                yield "W6.checkpoints", _updates_per_second(update, row, checkpoints)
            app.load(drive, scale.loop_records)
            for name, read in (("W6.records", _read), ("W6.entities", _read_entities)):
                read(drive.engine)
                for _ in range(scale.turns):
                    yield name, scale.loop_records / read(drive.engine)
            saved = partial(_save_each_hundred, update, row)
            yield "W6.saved", scale.loop_records / _read(drive.engine, saved)


def _updates_per_second(update: Update, row: int, count: int) -> float:
    began = time.perf_counter()
    for position in range(1, count + 1):
        update((str(position), position, row))
    return count / (time.perf_counter() - began)


def _save_each_hundred(update: Update, row: int, record_id: int) -> None:
    if record_id % _SAVED_EVERY == 0:
        update((str(record_id), record_id, row))


def _read(engine: Engine, pass_by: Callable[[int], None] | None = None) -> float:
    """Read all records in chunks, as one would write it by hand; give seconds."""
    columns = app.RECORDS.c
    ordered = select(app.RECORDS).order_by(columns.id).limit(app.CHUNK)
    last = 0
    began = time.perf_counter()
    while True:
        with engine.connect() as connection:
            rows = connection.execute(ordered.where(columns.id > last)).all()
        if not rows:
            return time.perf_counter() - began
        for row in rows:
            last = row.id
            if pass_by is not None:
                pass_by(last)


def _read_entities(engine: Engine) -> float:
    """Read all records as objects, in chunks; give seconds."""
    ordered = select(app.Record).order_by(app.RECORDS.c.id).limit(app.CHUNK)
    last = 0
    began = time.perf_counter()
    while True:
        with Session(engine) as session:
            found = session.scalars(ordered.where(app.RECORDS.c.id > last)).all()
            for record in found:
                last = record.id
        if not found:
            return time.perf_counter() - began


@contextmanager
def _postgresql(url: str) -> Iterator[Update]:
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    statement = _UPDATE.format(cursor='"cursor"', mark="%s").encode()
    with psycopg.connect(address, autocommit=True) as connection:
        yield lambda values: connection.execute(statement, values, prepare=True)


@contextmanager
def _mariadb(url: str) -> Iterator[Update]:
    parts = make_url(url)
    statement = _UPDATE.format(cursor="`cursor`", mark="%s")
    with closing(
        pymysql.connect(
            host=parts.host,
            port=parts.port or 3306,
            user=parts.username,
            password=parts.password or "",
            database=parts.database,
            autocommit=True,
        )
    ) as connection:
        cursor = connection.cursor()
        yield lambda values: cursor.execute(statement, values)


@contextmanager
def _sqlite(url: str) -> Iterator[Update]:
    path = make_url(url).database
    assert path is not None
    statement = _UPDATE.format(cursor='"cursor"', mark="?")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # As the library sets them: the setting sqlite_durability is `normal` unless told otherwise.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        yield lambda values: connection.execute(statement, values)


_OPEN = {"postgresql": _postgresql, "mariadb": _mariadb, "sqlite": _sqlite}
