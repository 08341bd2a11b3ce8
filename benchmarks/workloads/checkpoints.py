"""W6: durable checkpoints per second; ours comes with resumable steps, so only its floor."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg
import pymysql
from sqlalchemy import make_url

from benchmarks import places

_TABLE = "CREATE TABLE floor_cursors (id integer PRIMARY KEY, position integer NOT NULL)"
_ROW = "INSERT INTO floor_cursors (id, position) VALUES (1, 0)"

Statement = Callable[[str, tuple[int, ...]], object]


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
