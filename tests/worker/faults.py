"""Databases that go away, refuse, or lose an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import OperationalError

import geneva_drive as gd

_MOVES = re.compile(r"UPDATE geneva_drive_step_executions\b( e)?\s+SET state")
_NO_ANSWER: dict[str, tuple[Any, ...]] = {
    "sqlite": ("unable to open database file",),
    "postgresql": ("connection refused",),
    "mysql": (2003, "Can't connect to server"),
}


@contextmanager
def outage(*drives: gd.Drive) -> Iterator[None]:
    """Let nobody have a connection."""
    with ExitStack() as stack:
        for drive in drives:
            stack.enter_context(_unreachable(drive.engine))
        yield


@contextmanager
def _unreachable(engine: Engine) -> Iterator[None]:
    driver: Any = engine.dialect.dbapi

    def refuse(*_: Any) -> None:
        raise driver.OperationalError(*_NO_ANSWER[engine.dialect.name])

    event.listen(engine, "checkout", refuse)
    try:
        yield
    finally:
        event.remove(engine, "checkout", refuse)


class CommitFault:
    """Strikes at the COMMIT of a transaction that wrote a given state, so many times."""

    def __init__(
        self,
        engine: Engine,
        *,
        writes: str,
        strike: Callable[[Connection], None],
        times: int = 1,
    ) -> None:
        self._writes = writes
        self._strike = strike
        self._remaining = times
        event.listen(engine, "before_cursor_execute", self._look)
        event.listen(engine, "commit", self._commit)

    def _look(
        self, connection: Connection, _: Any, statement: str, parameters: Any, *__: Any
    ) -> None:
        moves = _MOVES.search(statement) is not None
        # The fast statements name the state themselves.
        if moves and self._writes in f"{statement}{parameters!r}":
            connection.info["fault"] = True

    def _commit(self, connection: Connection) -> None:
        if connection.info.pop("fault", False) and self._remaining:
            self._remaining -= 1
            self._strike(connection)

    @property
    def is_over(self) -> bool:
        return self._remaining == 0


def lose_answer(connection: Connection) -> None:
    """Carry the COMMIT out, and let the connection die before it is answered."""
    driver_connection: Any = connection.connection.dbapi_connection
    if connection.dialect.name == "sqlite":
        driver_connection.execute("COMMIT").close()
    else:
        driver_connection.commit()
    _die(connection)


def lose_commit(connection: Connection) -> None:
    """Let the connection die before the COMMIT reaches the database."""
    _die(connection)


def deadlock(connection: Connection) -> None:
    """Let the database choose this transaction to give way."""
    driver: Any = connection.dialect.dbapi
    orig = {
        "sqlite": lambda: driver.OperationalError("database is locked"),
        "postgresql": lambda: driver.errors.DeadlockDetected("deadlock detected"),
        "mysql": lambda: driver.err.OperationalError(1213, "Deadlock found"),
    }[connection.dialect.name]()
    raise OperationalError("COMMIT", None, orig)


def _die(connection: Connection) -> None:
    connection.invalidate()
    raise OperationalError(
        "COMMIT",
        None,
        Exception("server closed the connection unexpectedly"),
        connection_invalidated=True,
    )


def kill_from_outside(drive: gd.Drive) -> Callable[[Connection], None]:
    """Make a fault that lets the server end the connection right before its COMMIT."""

    def strike(connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            number = connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]  # psycopg
            order = f"SELECT pg_terminate_backend({number}, 5000)"
        else:
            number = connection.connection.dbapi_connection.thread_id()  # type: ignore[union-attr]  # PyMySQL
            order = f"KILL {number}"
        with drive.engine.connect() as other:
            other.execute(text(order))

    return strike
