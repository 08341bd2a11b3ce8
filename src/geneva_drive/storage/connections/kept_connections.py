"""Connections kept open for the hot statements."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from geneva_drive.storage.connections import fork_safety

_FRESH_SECONDS = 1.0  # a connection used this recently is not tested before use
_NEVER = float("-inf")
# Seconds after which a busy connection's plans are discarded: soon at first, as the tables may be
# new, then less often, as the next statements have to be planned again.
_FIRST_RENEWAL, _LONGEST_RENEWAL = 1.0, 8.0


@dataclass(slots=True)
class _Kept:
    connection: Connection
    renewed_at: float
    used_at: float
    renewed_after: float


class KeptConnections:
    """Open connections for the next use, which saves the checkout from the pool.

    One thread at a time takes a connection, and releases it right after the statement. After an
    exception the connection is closed. Its plans are renewed regularly, as tables grow.
    """

    def __init__(
        self,
        open_connection: Callable[[], Connection],
        most: int,
        renew: Callable[[Connection], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open = open_connection
        self._most = most
        self._renew = renew
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: list[_Kept] = []
        self._parents: list[_Kept] = []
        self._generation = fork_safety.generation

    def one(self) -> AbstractContextManager[Connection]:
        return _Lent(self)

    def take(self) -> _Kept:
        now = self._clock()
        kept = self._take(now) or _Kept(
            self._open(), renewed_at=now, used_at=now, renewed_after=_FIRST_RENEWAL
        )
        if now - kept.renewed_at >= kept.renewed_after:
            try:
                self._renew(kept.connection)
            except BaseException:
                kept.connection.close()
                raise
            kept.renewed_at = now
            kept.renewed_after = min(kept.renewed_after * 2, _LONGEST_RENEWAL)
        return kept

    def release(self, kept: _Kept) -> None:
        try:
            if kept.connection.in_transaction():
                kept.connection.commit()  # for SQLAlchemy only: the statement was autocommitted
        except BaseException:
            kept.connection.close()
            raise
        with self._lock:
            if len(self._kept) < self._most:
                kept.used_at = self._clock()
                self._kept.append(kept)
                return
        kept.connection.close()

    def close(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, []
        for one in kept:
            one.connection.close()

    def _take(self, now: float) -> _Kept | None:
        with self._lock:
            if self._generation != fork_safety.generation:
                # A forked child must neither use nor close its parent's connections. They are
                # kept, as collecting one would send a ROLLBACK on it.
                self._parents += self._kept
                self._kept, self._generation = [], fork_safety.generation
            if not self._kept:
                return None
            kept = self._kept.pop()
        if now - kept.used_at < _FRESH_SECONDS:
            return kept
        # Unused for too long: the engine tests the next connection when it is checked out.
        kept.connection.close()
        return None


class _Lent:
    """A connection in use. A class: `contextlib.contextmanager` takes far longer."""

    __slots__ = ("_among", "_kept")

    def __init__(self, among: KeptConnections) -> None:
        self._among = among

    def __enter__(self) -> Connection:
        self._kept = self._among.take()
        return self._kept.connection

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if error_type is None:
            self._among.release(self._kept)
        else:
            self._kept.connection.close()


class KeptDriver:
    """An autocommitting cursor of the driver itself.

    It belongs to a SQLAlchemy connection, is used by one thread at a time, and raises the driver's
    own errors. A class, as `contextlib.contextmanager` takes longer than the statement.
    """

    def __init__(self, open_connection: Callable[[], Connection], *, keeps: bool) -> None:
        self._open = open_connection
        self._keeps = keeps
        self._lock = threading.Lock()
        self._kept: Connection | None = None
        self._parents: list[Connection | None] = []
        self._used_at = _NEVER
        self._generation = fork_safety.generation
        self._cursor: Any = None

    def __enter__(self) -> Any:
        self._lock.acquire()
        now = time.monotonic()
        if now - self._used_at < _FRESH_SECONDS and self._generation == fork_safety.generation:
            self._used_at = now
            return self._cursor
        try:
            self._open_anew(now)
        except BaseException:
            self._lock.release()
            raise
        return self._cursor

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if error_type is None and self._keeps:
            self._lock.release()
            return
        try:
            self._drop()
        finally:
            self._lock.release()

    def close(self) -> None:
        with self._lock:
            if self._generation == fork_safety.generation:
                self._drop()

    def _open_anew(self, now: float) -> None:
        if self._generation != fork_safety.generation:
            # As in `KeptConnections`: a child neither uses nor closes its parent's connection.
            self._parents.append(self._kept)
            self._kept, self._generation = None, fork_safety.generation
        self._drop()
        self._kept = self._open()
        driver: Any = self._kept.connection.driver_connection
        self._cursor = driver.cursor()
        self._used_at = now

    def _drop(self) -> None:
        kept, self._kept, self._cursor, self._used_at = self._kept, None, None, _NEVER
        if kept is not None:
            kept.close()
