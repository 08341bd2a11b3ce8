"""The caller's own transaction, in which a workflow can be created or an event published."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Union

from sqlalchemy import Connection, Engine, event

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session, SessionTransaction

JoinedTransaction = Union["Session", Connection]
AsyncJoinedTransaction = Union["AsyncSession", "AsyncConnection", JoinedTransaction]

T = TypeVar("T")

_ORM, _ASYNC = "sqlalchemy.orm", "sqlalchemy.ext.asyncio"
_CALLBACKS = "geneva_after_commit"


def opened(given: Any, async_form: str, *, call: str = "create") -> JoinedTransaction | None:
    """Check the argument `session`; a `scoped_session` becomes the thread's session.

    `async_form` is the call that takes an `AsyncSession`.
    """
    if given is None:
        return None
    session: Any = given() if _is_a(_ORM, "scoped_session", given) else given
    if isinstance(session, Connection) or _is_a(_ORM, "Session", session):
        return session  # type: ignore[no-any-return]  # checked above
    if _is_async(session):
        raise InvalidInput(
            f"The session is an {type(session).__name__}, which has to be awaited. "
            f"Use `{async_form}`."
        )
    raise InvalidInput(
        f"{call}(session=...) must be a SQLAlchemy Session or Connection, got {shown(session)}."
    )


async def run_joined(given: AsyncJoinedTransaction, call: Callable[[JoinedTransaction], T]) -> T:
    """Call `call` with the transaction, through `run_sync` if its driver is async."""
    session: Any = given
    if _is_a(_ASYNC, "async_scoped_session", given):
        session = session()
    if _is_async(session):
        answer: T = await session.run_sync(call)
        return answer
    return call(session)


def session_of(joined: JoinedTransaction | None) -> Session | None:
    return None if joined is None or isinstance(joined, Connection) else joined


def is_async(joined: JoinedTransaction) -> bool:
    """True if the transaction's driver is async."""
    connection = joined if isinstance(joined, Connection) else joined.connection()
    return connection.dialect.is_async


def connection_of(joined: JoinedTransaction, engine: Engine) -> Connection:
    """Return the connection to write on; raise if it belongs to another database."""
    connection = joined if isinstance(joined, Connection) else joined.connection()
    if _database_of(connection.engine) != _database_of(engine):
        raise InvalidInput(
            "The session is connected to another database than the Drive. They "
            "cannot commit together."
        )
    return connection


def after_commit(session: Session, callback: Callable[[], None], *, on_a_thread: bool) -> None:
    """Call `callback` when the caller's transaction commits, never if it is rolled back.

    `on_a_thread` is for async drivers: their event loop must not wait for our connection.
    """
    if on_a_thread:
        callback = partial(_call_on_a_thread, callback)
    session.info.setdefault(_CALLBACKS, []).append(callback)
    if not event.contains(session, "after_commit", _committed):
        event.listen(session, "after_commit", _committed)
        event.listen(session, "after_soft_rollback", _rolled_back)


def _is_async(given: object) -> bool:
    names = ("AsyncSession", "AsyncConnection", "async_scoped_session")
    return any(_is_a(_ASYNC, name, given) for name in names)


def _is_a(module: str, name: str, given: object) -> bool:
    # A process without a session need not import SQLAlchemy's ORM, which is slow to load.
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(given, getattr(loaded, name))


def _call_on_a_thread(callback: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop's threads have ended; workers poll as well
        asyncio.get_running_loop().run_in_executor(None, copy_context().run, callback)


def _database_of(engine: Engine) -> tuple[str, str | None]:
    """Identify a database independently of its driver and host name."""
    url = engine.url
    is_file = url.get_backend_name() == "sqlite" and url.database
    return engine.name, str(Path(str(url.database)).resolve()) if is_file else url.database


def _committed(session: Session) -> None:
    if session.in_nested_transaction():
        return  # a savepoint was released; its transaction may still be rolled back
    for callback in session.info.pop(_CALLBACKS, ()):
        callback()


def _rolled_back(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:
        session.info.pop(_CALLBACKS, None)
