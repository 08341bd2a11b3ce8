"""W6: durable checkpoints per second: single-row updates, bare and by the library's hot path."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg
import pymysql
from sqlalchemy import make_url

import geneva_drive as gd
from benchmarks import places
from benchmarks.drivers.geneva_app import Sleeping
from geneva_drive.worker.claiming import claim_due
from geneva_drive.worker.identity import Identity

_TABLE = "CREATE TABLE floor_cursors (id integer PRIMARY KEY, position integer NOT NULL)"
_ROW = "INSERT INTO floor_cursors (id, position) VALUES (1, 0)"
_CHECKPOINT = {
    database: f"UPDATE geneva_drive_step_executions SET metadata = {mark} "
    f"WHERE id = {mark} AND claim_token = {mark}"
    for database, mark in {"postgresql": "%b", "mariadb": "%s", "sqlite": "?"}.items()
}

Statement = Callable[[str, tuple[int, ...]], object]


def ours(database: str, commits: int) -> float:
    """Give the rate of guarded updates of one execution, each durable when it returns.

    Resumable steps come later; this is the way that their checkpoints will take to the database:
    a statement guarded by the claim's token, on the connection that is kept for hot statements.
    """
    with places.fresh(database) as url:
        drive = gd.Drive(url)
        drive.migrate()
        Sleeping.using(drive).create()
        [claimed] = claim_due(drive.environment, Identity(), limit=1)
        store = drive.store
        key, token = claimed.execution.id, claimed.claim_token
        began = time.perf_counter()
        for position in range(commits):
            values = (str(position), key, token)
            count = store.write_at_once(
                lambda c, values=values: c.exec_driver_sql(_CHECKPOINT[database], values).rowcount
            )
            assert count == 1, "the claim was lost"
        rate = commits / (time.perf_counter() - began)
        drive.close()
        return rate


def floor(database: str, commits: int) -> float:
    """Give the rate of bare single-row updates, each committed, through our driver."""
    mark = "?" if database == "sqlite" else "%s"
    update = f"UPDATE floor_cursors SET position = {mark} WHERE id = {mark}"
    with places.fresh(database) as url, _OPEN[database](url) as execute:
        execute(_TABLE, ())
        execute(_ROW, ())
        began = time.perf_counter()
        for position in range(commits):
            execute(update, (position, 1))
        return commits / (time.perf_counter() - began)


@contextmanager
def _postgresql(url: str) -> Iterator[Statement]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield lambda statement, values: connection.execute(statement.encode(), values)


@contextmanager
def _mariadb(url: str) -> Iterator[Statement]:
    parts = make_url(url)
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
        yield cursor.execute


@contextmanager
def _sqlite(url: str) -> Iterator[Statement]:
    path = make_url(url).database
    assert path is not None
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # As the library sets it: the setting sqlite_durability is `normal` unless told otherwise.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        yield connection.execute


_OPEN = {"postgresql": _postgresql, "mariadb": _mariadb, "sqlite": _sqlite}
