"""The caller's own transaction, in which a workflow can be created."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from sqlalchemy import Connection, Engine, event

from geneva_drive.errors import InvalidInput

if TYPE_CHECKING:
    from sqlalchemy.orm import Session, SessionTransaction

JoinedTransaction = Union["Session", Connection]

_CALLBACKS = "geneva_after_commit"


def opened(given: Any) -> JoinedTransaction | None:
    """Check the argument `session`; a `scoped_session` becomes the thread's session."""
    if given is None:
        return None
    session: Any = given() if _is_a("scoped_session", given) else given
    if isinstance(session, Connection) or _is_a("Session", session):
        return session  # type: ignore[no-any-return]  # checked above
    raise InvalidInput(
        f"create(session=...) must be a SQLAlchemy Session or Connection, got {session!r}."
    )


def session_of(joined: JoinedTransaction | None) -> Session | None:
    return None if joined is None or isinstance(joined, Connection) else joined


def connection_of(joined: JoinedTransaction, engine: Engine) -> Connection:
    """Return the connection to write on; raise if it belongs to another database."""
    connection = joined if isinstance(joined, Connection) else joined.connection()
    if _database_of(connection.engine) != _database_of(engine):
        raise InvalidInput(
            "The session passed to create() is connected to another database than the Drive. They "
            "cannot commit together."
        )
    return connection


def after_commit(session: Session, callback: Callable[[], None]) -> None:
    """Call `callback` when the caller's transaction commits, never if it is rolled back."""
    session.info.setdefault(_CALLBACKS, []).append(callback)
    if not event.contains(session, "after_commit", _committed):
        event.listen(session, "after_commit", _committed)
        event.listen(session, "after_soft_rollback", _rolled_back)


def _is_a(name: str, given: object) -> bool:
    # A process without a session need not import SQLAlchemy's ORM, which is slow to load.
    orm = sys.modules.get("sqlalchemy.orm")
    return orm is not None and isinstance(given, getattr(orm, name))


def _database_of(engine: Engine) -> tuple[str, str | None]:
    """Identify a database, whichever driver or host name leads to it."""
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
