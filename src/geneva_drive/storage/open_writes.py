"""Transactions of users that have written something on the Drive's engine, and are still open."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakSet

from sqlalchemy import Connection, Engine, event

from geneva_drive.storage.dialects.sqlite import READS, WRITES_OPTION


class OpenWrites:
    """Knows whether the thread that asks has an open transaction with writes in it.

    A loop that goes on to its next item then would save a cursor behind writes that may never be
    committed.
    """

    def __init__(self, engine: Engine) -> None:
        self._of_thread = _OfThread()
        event.listen(engine, "before_cursor_execute", self._note)
        event.listen(engine, "commit", self._forget)
        event.listen(engine, "rollback", self._forget)

    def __bool__(self) -> bool:
        return bool(self._of_thread.connections)

    def _note(self, connection: Connection, cursor: Any, statement: str, *_: Any) -> None:  # noqa: ARG002 - SQLAlchemy's signature
        options = connection.get_execution_options()
        is_ours = WRITES_OPTION in options or options.get("isolation_level") == "AUTOCOMMIT"
        if not is_ours and READS.match(statement) is None:
            self._of_thread.connections.add(connection)

    def _forget(self, connection: Connection) -> None:
        self._of_thread.connections.discard(connection)


class _OfThread(threading.local):
    def __init__(self) -> None:
        # Weakly: a session that nobody closed ends its transaction when it is collected.
        self.connections: WeakSet[Connection] = WeakSet()
