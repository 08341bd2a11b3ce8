"""Connections to PostgreSQL that outlast the engine of one test.

The server starts a process for each connection, and each process reads the catalogue anew. That
took as much of the server's time as the statements of the tests.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg.abc import AdaptContext
from psycopg.adapt import AdaptersMap
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn

_MOST = 6  # of the hundred connections that a server allows by default to all test processes
_CONTEXT, _PREPARE_THRESHOLD = "context", "prepare_threshold"
_AT_REST = {TransactionStatus.IDLE, TransactionStatus.INTRANS, TransactionStatus.INERROR}


class _Connection(psycopg.Connection[Any]):
    """A connection on what libpq knows already, with the adapters of its engine."""

    def __init__(self, known: PGconn, context: AdaptContext) -> None:
        super().__init__(known)
        self._context = AdaptersMap(context.adapters)

    @property
    def adapters(self) -> AdaptersMap:
        return self._context


class LastingConnections:
    """What libpq knows of the connections that the engines of earlier tests have closed."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[tuple[str, PGconn]] = []
        self._addresses: WeakKeyDictionary[psycopg.Connection[Any], str] = WeakKeyDictionary()
        self._closed = psycopg.pq.PGconn.connect_start(b"")
        self._closed.finish()

    def serve(self, dialect: Any) -> None:
        """Have the engine that was made with `dialect` open and close its connections here."""
        connect, close = dialect.connect, dialect.do_close

        def open_connection(*arguments: Any, **options: Any) -> psycopg.Connection[Any]:
            # Each dialect has an adapters map of its own, with the same entries.
            named = {name: value for name, value in options.items() if name != _CONTEXT}
            address = repr((arguments, sorted(named.items())))
            connection = self._open_again(address, options) or connect(*arguments, **options)
            self._addresses[connection] = address
            return connection

        def close_connection(connection: psycopg.Connection[Any]) -> None:
            if not self._keep(connection):
                close(connection)

        dialect.connect, dialect.do_close = open_connection, close_connection

    def close(self) -> None:
        for _, known in self._idle:
            known.finish()
        self._idle.clear()

    def _open_again(
        self, address: str, options: Mapping[str, Any]
    ) -> psycopg.Connection[Any] | None:
        known = self._take(address)
        # A test may have had the server end all connections.
        while known is not None and known.exec_(b"").status != ExecStatus.EMPTY_QUERY:
            known.finish()
            known = self._take(address)
        if known is None:
            return None
        connection = _Connection(known, options[_CONTEXT])
        connection.prepare_threshold = options.get(_PREPARE_THRESHOLD, connection.prepare_threshold)
        return connection

    def _take(self, address: str) -> PGconn | None:
        if os.getpid() != self._process:
            return None  # a forked child must not talk on its parent's connections
        with self._lock:
            places = [place for place, (at, _) in enumerate(self._idle) if at == address]
            return self._idle.pop(places[-1])[1] if places else None

    def _keep(self, connection: psycopg.Connection[Any]) -> bool:
        known = connection.pgconn
        if os.getpid() != self._process or known.transaction_status not in _AT_REST:
            return False
        for order in (b"ROLLBACK", b"DISCARD ALL"):
            if known.exec_(order).status != ExecStatus.COMMAND_OK:
                return False
        while known.notifies():
            pass
        with self._lock:
            if len(self._idle) == _MOST:
                return False
            self._idle.append((self._addresses[connection], known))
        # Code that still holds the connection finds it closed.
        connection.pgconn = self._closed
        return True
