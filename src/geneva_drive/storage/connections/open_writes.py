"""Uncommitted writes of a step's body, on any engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any
from weakref import ref

from sqlalchemy import Connection, Engine, RootTransaction, event
from sqlalchemy.exc import SQLAlchemyError

from geneva_drive.storage.dialects.connection_options import WRITES_OPTION, commits_by_itself

_WRITES = re.compile(
    r"(\s|--[^\n]*\n|/\*.*?\*/)*"
    r"(INSERT|UPDATE|DELETE|REPLACE|MERGE|CALL|COPY|LOAD|CREATE|ALTER|DROP|TRUNCATE"
    r"|WITH\b(?=.*\b(INSERT|UPDATE|DELETE|MERGE)\b))\b",
    re.IGNORECASE | re.DOTALL,
)

# A ContextVar, as parts of an async body run on other threads. Weak references: a session that was
# never closed ends its transaction when it is collected. No WeakSet: `are_there` is called after
# each item, and `bool()` of a WeakSet takes far longer.
_open: ContextVar[set[ref[RootTransaction]] | None] = ContextVar("geneva_open_writes", default=None)


@contextmanager
def watching() -> Iterator[None]:
    """Watch the writes of a body in this block, also in other databases.

    If a loop saved its cursor while a write is uncommitted, and the commit failed, the loop would
    continue after an item whose write is missing.
    """
    token = _open.set(set())
    try:
        yield
    finally:
        _open.reset(token)


def are_there() -> bool:
    return bool(_open.get()) and bool(_transactions())


def roll_back() -> None:
    """Roll back open writes: a traceback may keep the session, and so its locks, alive."""
    for transaction in _transactions():
        # A connection of an async engine can only be used by the body that awaits it.
        if not transaction.connection.dialect.is_async:
            with suppress(SQLAlchemyError):  # the loop raises its error in either case
                transaction.connection.rollback()


def _transactions() -> list[RootTransaction]:
    """Return the transactions that wrote and have not ended."""
    found = [reference() for reference in list(_open.get() or ())]
    return [one for one in found if one is not None and one.is_active]


def _note(connection: Connection, cursor: Any, statement: str, *_: Any) -> None:  # noqa: ARG001 - SQLAlchemy's signature
    watched = _open.get()
    if watched is None:
        return
    is_ours = WRITES_OPTION in connection.get_execution_options()
    if not is_ours and _WRITES.match(statement) and not commits_by_itself(connection):
        transaction = connection.get_transaction()
        assert transaction is not None, "SQLAlchemy begins one before it executes a statement"
        watched.add(ref(transaction, watched.discard))


# On all engines, at import: later, other threads may be iterating over the listeners.
event.listen(Engine, "before_cursor_execute", _note)
