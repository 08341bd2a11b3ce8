"""Hints through PostgreSQL's NOTIFY and LISTEN."""

from __future__ import annotations

import logging
import math
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from geneva_drive.errors import StorageError
from geneva_drive.storage.dialects.hints import Hints, Notice, Ring, Watch, Write, taken_out
from geneva_drive.storage.dialects.postgresql import pooler

logger = logging.getLogger(__name__)

# One notice within this time is enough: a worker that was just woken polls again soon.
COALESCED = timedelta(milliseconds=5)
_NOTIFY = text("SELECT pg_notify(:channel, :sender)")
_ALIVE_CHECK = timedelta(minutes=1)
_PASSED_ON_WITHIN = timedelta(seconds=2)


class Notices(Hints):
    """Sends and receives notices on one channel."""

    def __init__(
        self,
        engine: Engine,
        channel: str,
        write: Write,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._channel = channel
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._sent_at = -math.inf
        self._sender = secrets.token_hex(8)

    def send(self) -> None:
        with self._lock:
            now = self._clock()
            if not self._is_due(now):
                return
            self._sent_at = now
        try:
            self._write(lambda connection: _notify(connection, self._channel, self._sender))
        except (StorageError, DBAPIError) as error:
            logger.debug("No notice was sent: %s", error)

    def along(self) -> Notice | None:
        with self._lock:
            is_due = self._is_due(self._clock())
        return Notice(self._channel, self._sender) if is_due else None

    def went_along(self) -> None:
        with self._lock:
            self._sent_at = self._clock()

    def _is_due(self, now: float) -> bool:
        return now - self._sent_at >= COALESCED.total_seconds()

    def send_within(self, connection: Connection) -> None:
        # No sender, so that this process's workers react too: only the server sees the commit.
        _notify(connection, self._channel, "")

    def watch(self, ring: Ring) -> Watch:
        return _Listener(self._engine, self._channel, self._sender, ring)


def _notify(connection: Connection, channel: str, sender: str) -> None:
    connection.execute(_NOTIFY, {"channel": channel, "sender": sender})


class _Listener:
    def __init__(self, engine: Engine, channel: str, own_sender: str, ring: Ring) -> None:
        self._engine = engine
        self._channel = channel
        self._own_sender = own_sender
        self._ring = ring
        self._stop_receiver, self._stop_sender = socket.socketpair()

    def run(self) -> None:
        with self._engine.connect() as connection:
            driver = taken_out(connection)
            try:
                self._run_on(driver)
            except BaseException:
                # The connection is lost. The pool would try to reset it, and log the failure.
                connection.invalidate()
                driver.close()
                raise

    def _run_on(self, driver: Any) -> None:
        driver.autocommit = True
        with selectors.DefaultSelector() as selector:
            selector.register(driver, selectors.EVENT_READ)
            selector.register(self._stop_receiver, selectors.EVENT_READ)
            if not pooler.stands_before(driver) or self._are_passed_on(driver, selector):
                self._listen(driver, selector)

    def stop(self) -> None:
        self._stop_sender.close()

    def close(self) -> None:
        self._stop_receiver.close()

    def _listen(self, driver: Any, selector: selectors.BaseSelector) -> None:
        driver.execute(f'LISTEN "{self._channel}"')
        self._ring(None)  # notices sent before LISTEN are lost
        while True:
            heard = _wait(selector, _ALIVE_CHECK)
            if self._stop_receiver in heard:
                return
            if not heard:
                driver.execute("SELECT 1")  # a lost connection is silent until it is used
                self._ring(None)  # the driver drops notices that came with the answer
            others = [named for sender, named in _heard(driver) if sender != self._own_sender]
            if others:  # workers of this process were woken directly
                self._ring(others[0] if len(others) == 1 else None)

    def _are_passed_on(self, driver: Any, selector: selectors.BaseSelector) -> bool:
        """True if the pooler forwards notices; in transaction mode it does not.

        LISTEN remains on the server's connection, which another client may get next. So the test
        uses a channel that is never used again.
        """
        channel = f"{self._channel}_{secrets.token_hex(8)}"
        driver.execute(f'LISTEN "{channel}"')
        with self._engine.begin() as another:
            _notify(another, channel, "")
        heard = _wait(selector, _PASSED_ON_WITHIN)
        if self._stop_receiver in heard:
            return False
        if not list(driver.notifies(timeout=0)):
            logger.info("This pooler does not forward hints: workers find due steps by polling.")
            return False
        driver.execute(f'UNLISTEN "{channel}"')
        return True


def _heard(driver: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the sender of each received notice, and the execution's id that it names, if any."""
    # Read from libpq directly: each call of the driver's own generator starts and ends a wait.
    driver.pgconn.consume_input()
    while (notice := driver.pgconn.notifies()) is not None:
        sender, _, named = notice.extra.decode(errors="replace").partition(":")
        yield sender, named or None


def _wait(selector: selectors.BaseSelector, longest: timedelta) -> list[Any]:
    return [key.fileobj for key, _ in selector.select(longest.total_seconds())]
