"""A caller's own transaction, in which a workflow is created."""

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

_TO_TELL = "geneva_to_tell"


def opened(given: Any) -> JoinedTransaction | None:
    """Take what a caller passes as `session`; a scoped one stands for the thread's own."""
    if given is None:
        return None
    session: Any = given() if _is_a("scoped_session", given) else given
    if isinstance(session, Connection) or _is_a("Session", session):
        return session  # type: ignore[no-any-return]  # it was just looked at
    raise InvalidInput(
        f"create(session=...) takes a SQLAlchemy Session or Connection, not {session!r}."
    )


def session_of(joined: JoinedTransaction | None) -> Session | None:
    return None if joined is None or isinstance(joined, Connection) else joined


def connection_of(joined: JoinedTransaction, engine: Engine) -> Connection:
    """Give the connection to write on, if it leads to the Drive's database."""
    connection = joined if isinstance(joined, Connection) else joined.connection()
    if _place(connection.engine) != _place(engine):
        raise InvalidInput(
            "The session passed to create() is connected to another database than the Drive, so "
            "that they cannot commit together."
        )
    return connection


def after_commit(session: Session, tell: Callable[[], None]) -> None:
    """Call `tell` once the caller's transaction is committed, and never if it is rolled back."""
    session.info.setdefault(_TO_TELL, []).append(tell)
    if not event.contains(session, "after_commit", _committed):
        event.listen(session, "after_commit", _committed)
        event.listen(session, "after_soft_rollback", _rolled_back)


def _is_a(name: str, given: object) -> bool:
    # Who has no session has not loaded SQLAlchemy's ORM, which would take as long as all the rest.
    orm = sys.modules.get("sqlalchemy.orm")
    return orm is not None and isinstance(given, getattr(orm, name))


def _place(engine: Engine) -> tuple[str, str | None]:
    """Tell databases apart, whatever driver or host name leads to them."""
    url = engine.url
    is_file = url.get_backend_name() == "sqlite" and url.database
    return engine.name, str(Path(str(url.database)).resolve()) if is_file else url.database


def _committed(session: Session) -> None:
    if session.in_nested_transaction():
        return  # a savepoint was released, and its transaction may still be rolled back
    for tell in session.info.pop(_TO_TELL, ()):
        tell()


def _rolled_back(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:
        session.info.pop(_TO_TELL, None)
