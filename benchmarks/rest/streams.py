"""Viewers of `/stream`: what they cost the database, and how soon they are told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from sqlalchemy import create_engine, text

from benchmarks.drivers.geneva import with_driver


class Viewers:
    """Connections that read hints, and note when each came."""

    def __init__(self, url: str, secret: str) -> None:
        self._url = urlsplit(url)
        self._secret = secret
        self.heard: list[list[float]] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, count: int) -> None:
        ready = [asyncio.Event() for _ in range(count)]
        for one in ready:
            moments: list[float] = []
            self.heard.append(moments)
            self._tasks.append(asyncio.create_task(self._read(moments, one)))
        await asyncio.gather(*(one.wait() for one in ready))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self, moments: list[float], ready: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection(self._url.hostname, self._url.port)
        writer.write(
            f"GET /api/v1/stream HTTP/1.1\r\nHost: {self._url.netloc}\r\n"
            f"Authorization: Bearer {self._secret}\r\n\r\n".encode()
        )
        try:
            while line := await reader.readline():
                if line.startswith(b"event: ready"):
                    ready.set()
                elif line.startswith(b"event: hint"):
                    moments.append(time.perf_counter())
        finally:
            writer.close()


async def delays(
    url: str, secret: str, viewers: int, change: Callable[[], object], changes: int
) -> list[float]:
    """Return the milliseconds from each change until each viewer was told."""
    watching = Viewers(url, secret)
    await watching.open(viewers)
    await asyncio.sleep(1)
    made = []
    for _ in range(changes):
        await asyncio.to_thread(change)
        made.append(time.perf_counter())
        await asyncio.sleep(0.73)  # no multiple of the reader's interval
    await asyncio.sleep(1)
    await watching.close()
    found = []
    for moments in watching.heard:
        for moment in made:
            later = [one for one in moments if one >= moment]
            found.append((later[0] - moment) * 1000 if later else float("inf"))
    return found


async def transactions(
    url: str, secret: str, database_url: str, viewers: int, seconds: float
) -> float:
    """Return how many transactions per second the database has while so many only listen."""
    watching = Viewers(url, secret)
    await watching.open(viewers)
    await asyncio.sleep(2)
    before = await asyncio.to_thread(_count, database_url)
    await asyncio.sleep(seconds)
    after = await asyncio.to_thread(_count, database_url)
    await watching.close()
    return (after - before) / seconds


def _count(database_url: str) -> float:
    engine = create_engine(with_driver(database_url))
    with engine.connect() as connection:
        time.sleep(1.2)  # the server publishes its counters once a second
        counted = text(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database "
            "WHERE datname = current_database()"
        )
        found = float(connection.scalar(counted) or 0)
    engine.dispose()
    return found
