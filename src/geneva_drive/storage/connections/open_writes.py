"""Transactions of users that have written something, on whatever engine, and are still open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any
from weakref import ref

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import SQLAlchemyError

from geneva_drive.storage.dialects.connection_options import WRITES_OPTION, commits_by_itself

_WRITES = re.compile(
    r"(\s|--[^\n]*\n|/\*.*?\*/)*"
    r"(INSERT|UPDATE|DELETE|REPLACE|MERGE|CALL|COPY|LOAD|CREATE|ALTER|DROP|TRUNCATE"
    r"|WITH\b(?=.*\b(INSERT|UPDATE|DELETE|MERGE)\b))\b",
    re.IGNORECASE | re.DOTALL,
)

# Carried along by the context: what an async body awaits runs elsewhere.
# Weakly: a session that nobody closed ends its transaction when it is collected. No WeakSet, whose
# truth is asked for after each item, and takes far longer to find out.
_open: ContextVar[set[ref[Connection]] | None] = ContextVar("geneva_open_writes", default=None)


@contextmanager
def watching() -> Iterator[None]:
    """Look at what a body writes in this block, be it in another database.

    A loop that goes on to its next item while any of it is not committed would save a cursor behind
    writes that may never be.
    """
    token = _open.set(set())
    try:
        yield
    finally:
        _open.reset(token)


def are_there() -> bool:
    return bool(_open.get())


def roll_back() -> None:
    """Undo what is open: its session may be kept alive, and with it a lock, by a traceback."""
    for reference in list(_open.get() or ()):
        connection = reference()
        # One of an async engine can only be spoken to by the body that awaits it.
        if connection is not None and not connection.dialect.is_async:
            with suppress(SQLAlchemyError):  # the loop is refused in either case
                connection.rollback()


def _note(connection: Connection, cursor: Any, statement: str, *_: Any) -> None:  # noqa: ARG001 - SQLAlchemy's signature
    watched = _open.get()
    if watched is None:
        return
    is_ours = WRITES_OPTION in connection.get_execution_options()
    if not is_ours and _WRITES.match(statement) and not commits_by_itself(connection):
        watched.add(ref(connection, watched.discard))


def _forget(connection: Connection, *_: Any) -> None:
    watched = _open.get()
    if watched is not None:
        watched.discard(ref(connection))


# To all engines, and when this is imported: later, threads may be going through the listeners.
event.listen(Engine, "before_cursor_execute", _note)
for _end in ("commit", "rollback", "commit_twophase", "rollback_twophase"):
    event.listen(Engine, _end, _forget)
