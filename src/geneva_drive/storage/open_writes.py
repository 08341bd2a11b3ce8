"""Transactions of users that have written something on the Drive's engine, and are still open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import ref

from sqlalchemy import Connection, Engine, event

from geneva_drive.storage.dialects.sqlite import WRITES_OPTION

_WRITES = re.compile(
    r"(\s|--[^\n]*\n|/\*.*?\*/)*"
    r"(INSERT|UPDATE|DELETE|REPLACE|MERGE|CALL|COPY|LOAD|CREATE|ALTER|DROP|TRUNCATE"
    r"|WITH\b(?=.*\b(INSERT|UPDATE|DELETE|MERGE)\b))\b",
    re.IGNORECASE | re.DOTALL,
)


class OpenWrites:
    """Knows whether a body has an open transaction with writes in it, on whatever thread.

    A loop that goes on to its next item then would save a cursor behind writes that may never be
    committed.
    """

    def __init__(self, engine: Engine) -> None:
        # Carried along by the context: what an async body awaits runs elsewhere.
        # Weakly: a session that nobody closed ends its transaction when it is collected. No
        # WeakSet, whose truth is asked for after each item, and takes far longer to find out.
        self._watched: ContextVar[set[ref[Connection]] | None] = ContextVar(
            "geneva_open_writes", default=None
        )
        event.listen(engine, "before_cursor_execute", self._note)
        event.listen(engine, "commit", self._forget)
        event.listen(engine, "rollback", self._forget)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at what is written in this block."""
        token = self._watched.set(set())
        try:
            yield
        finally:
            self._watched.reset(token)

    def roll_back(self) -> None:
        """Undo what is open: its session may be kept alive, and with it a lock, by a traceback."""
        for reference in list(self._watched.get() or ()):
            connection = reference()
            if connection is not None:
                connection.rollback()

    def __bool__(self) -> bool:
        return bool(self._watched.get())

    def _note(self, connection: Connection, cursor: Any, statement: str, *_: Any) -> None:  # noqa: ARG002 - SQLAlchemy's signature
        watched = self._watched.get()
        if watched is None:
            return
        options = connection.get_execution_options()
        is_ours = WRITES_OPTION in options or options.get("isolation_level") == "AUTOCOMMIT"
        if not is_ours and _WRITES.match(statement):
            watched.add(ref(connection, watched.discard))

    def _forget(self, connection: Connection) -> None:
        watched = self._watched.get()
        if watched is not None:
            watched.discard(ref(connection))
