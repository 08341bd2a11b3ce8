"""Hints between processes that something may be due: never needed, as polling finds it too."""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from geneva_drive.errors import StorageError

logger = logging.getLogger(__name__)

# Within this time one notice stands for all: whoever it wakes looks again a little later anyway.
COALESCED = timedelta(milliseconds=5)
_NOTIFY = "SELECT pg_notify(%(channel)s, '')"
_ALIVE_CHECK = timedelta(minutes=1)
_LIVELY, _QUIET = 0.005, 0.02  # seconds between two looks at SQLite's counter
_LIVELY_FOR = 1.0

Write = Callable[[Callable[[Connection], Any]], Any]


class Hints:
    """What a database has to offer: here nothing, as on MySQL."""

    def send(self) -> None:
        """Tell the workers of other processes that something may be due."""

    def watch(self, ring: Callable[[], None]) -> Watch | None:  # noqa: ARG002 - nothing rings here
        """Make what rings when another process sends a hint; None where there is no such thing."""
        return None


class Watch:
    """Waits for hints on a thread of its own, from `run` to `stop`; `close` comes last."""

    def run(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what it holds, once nobody runs it any more."""


class Notices(Hints):
    """PostgreSQL's NOTIFY and LISTEN."""

    def __init__(self, engine: Engine, channel: str, write: Write) -> None:
        self._engine = engine
        self._channel = channel
        self._write = write
        self._lock = threading.Lock()
        self._sent_at = -COALESCED.total_seconds()

    def send(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._sent_at < COALESCED.total_seconds():
                return
            self._sent_at = now
        try:
            self._write(
                lambda connection: connection.exec_driver_sql(_NOTIFY, {"channel": self._channel})
            )
        except (StorageError, DBAPIError) as error:
            logger.debug("No notice was sent: %s", error)

    def watch(self, ring: Callable[[], None]) -> Watch:
        return _Listening(self._engine, self._channel, ring)


class _Listening(Watch):
    def __init__(self, engine: Engine, channel: str, ring: Callable[[], None]) -> None:
        self._engine = engine
        self._channel = channel
        self._ring = ring
        self._hear_stop, self._say_stop = socket.socketpair()

    def run(self) -> None:
        with self._engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            driver: Any = connection.connection.driver_connection
            try:
                self._listen(driver)
            finally:
                # Back in the pool it must not go on listening.
                with contextlib.suppress(Exception):
                    driver.execute(f'UNLISTEN "{self._channel}"')

    def stop(self) -> None:
        self._say_stop.close()

    def close(self) -> None:
        self._hear_stop.close()

    def _listen(self, driver: Any) -> None:
        driver.execute(f'LISTEN "{self._channel}"')
        self._ring()  # what was sent before is not heard any more
        while True:
            heard, _, _ = select.select(
                [driver, self._hear_stop], [], [], _ALIVE_CHECK.total_seconds()
            )
            if self._hear_stop in heard:
                return
            if not heard:
                driver.execute("SELECT 1")  # a dead connection keeps silent until it is asked
            for _ in driver.notifies(timeout=0):
                self._ring()


class Counter(Hints):
    """SQLite's counter of changes made by other connections, in this process and others."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def watch(self, ring: Callable[[], None]) -> Watch:
        return _Counting(self._engine, ring)


class _Counting(Watch):
    def __init__(self, engine: Engine, ring: Callable[[], None]) -> None:
        self._engine = engine
        self._ring = ring
        self._stopping = threading.Event()

    def run(self) -> None:
        with self._engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            seen = None
            changed_at = time.monotonic()
            while not self._stopping.is_set():
                count = driver.execute("PRAGMA data_version").fetchone()[0]
                if count != seen:
                    seen, changed_at = count, time.monotonic()
                    self._ring()
                is_lively = time.monotonic() - changed_at < _LIVELY_FOR
                self._stopping.wait(_LIVELY if is_lively else _QUIET)

    def stop(self) -> None:
        self._stopping.set()
