"""Measure the time of a bare commit: one row at a time, on the user's own engine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import Column, Engine, Integer, MetaData, Table, insert


class BareCommits:
    """A table whose rows are committed one by one, without GenevaDrive's own code."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._table = Table(
            name,
            MetaData(),
            Column("id", Integer, primary_key=True),
            Column("number", Integer, nullable=False),
            mysql_engine="InnoDB",
            mariadb_engine="InnoDB",
        )
        self._table.create(engine)

    def time(self, count: int) -> Iterator[timedelta]:
        """Commit `count` rows; yield the time of each."""
        with self._engine.connect() as connection:
            for number in range(count):
                before = time.perf_counter()
                connection.execute(insert(self._table).values(number=number))
                connection.commit()
                yield timedelta(seconds=time.perf_counter() - before)
