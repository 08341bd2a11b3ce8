"""Asking PostgreSQL about a system's progress, the same way for every system."""

from __future__ import annotations

import os

import psycopg

from benchmarks.drivers.driver import Finished

URL_VARIABLE = "GENEVA_BENCH_URL"


class Progress:
    """One system's two questions: is anything unfinished, and what has finished."""

    def __init__(self, *, unfinished: str, finished: str) -> None:
        self._connection = psycopg.connect(os.environ[URL_VARIABLE], autocommit=True)
        self._unfinished = f"SELECT EXISTS ({unfinished})".encode()
        self._finished = finished.encode()

    def is_busy(self) -> bool:
        row = self._connection.execute(self._unfinished).fetchone()
        return bool(row and row[0])

    def finished(self) -> Finished:
        row = self._connection.execute(self._finished).fetchone()
        assert row is not None
        return Finished(count=row[0], last_at=float(row[1] or 0.0))
