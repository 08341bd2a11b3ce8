"""Databases that go away, refuse, or lose an answer."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import OperationalError

import geneva_drive as gd
from geneva_drive.storage.dialects.connection_options import WRITES_OPTION
from tests.engines import OWN_DIALECTS, trace

_MOVES = re.compile(r"UPDATE [\"`]?geneva_drive_step_executions\b.*?\bSET\s+(e\.)?state", re.DOTALL)
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
    is_away = True

    def refuse(*_: Any) -> None:
        if is_away:
            raise driver.OperationalError(*_NO_ANSWER[engine.dialect.name])

    def cut(connection: Connection) -> None:
        # A kept connection is not checked out again, but something has to begin on it.
        if is_away:
            connection.invalidate()
            lost = driver.OperationalError(*_NO_ANSWER[engine.dialect.name])
            raise OperationalError("BEGIN", None, lost, connection_invalidated=True)

    event.listen(engine, "checkout", refuse)
    event.listen(engine, "begin", cut)
    trace(engine)
    try:
        yield
    finally:
        # They stay: to remove one while another thread calls them is an error over there.
        is_away = False


def refuse_connections(engine: Engine) -> threading.Event:
    """Let no new connection be made while the event is set, which it is."""
    driver: Any = engine.dialect.dbapi
    is_away = threading.Event()
    is_away.set()

    # Of the pool, which keeps the dialect that it was made with.
    @event.listens_for(OWN_DIALECTS.get(engine, engine.dialect), "do_connect")
    def refuse(*_: Any) -> None:
        if is_away.is_set():
            raise driver.OperationalError(*_NO_ANSWER[engine.dialect.name])

    return is_away


# Is called right before a COMMIT, with a way to carry it out.
Strike = Callable[[Connection, Callable[[], object]], None]


class CommitFault:
    """Strikes at the COMMIT of a transaction that wrote a given state, so many times.

    A statement on a connection that commits by itself is a COMMIT as well.
    """

    def __init__(self, engine: Engine, *, writes: str, strike: Strike, times: int = 1) -> None:
        self._writes = writes
        self._strike = strike
        self._remaining = times
        event.listen(engine, "before_cursor_execute", self._look)
        trace(engine)
        event.listen(engine, "commit", self._commit)

    def _look(
        self, connection: Connection, cursor: Any, statement: str, parameters: Any, *_: Any
    ) -> None:
        moves = _MOVES.search(statement) is not None
        # The fast statements name the state themselves, in quotes as its repr among parameters.
        if not moves or f"'{self._writes}'" not in f"{statement}{parameters!r}":
            return
        if connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
            self._strike_at(connection, lambda: cursor.execute(statement, parameters))
        else:
            connection.info["fault"] = True

    def _commit(self, connection: Connection) -> None:
        if not connection.info.pop("fault", False):
            return
        driver_connection: Any = connection.connection.dbapi_connection
        if connection.dialect.name == "sqlite":
            self._strike_at(connection, lambda: driver_connection.execute("COMMIT").close())
        else:
            self._strike_at(connection, driver_connection.commit)

    def _strike_at(self, connection: Connection, carry_out: Callable[[], object]) -> None:
        if self._remaining:
            self._remaining -= 1
            self._strike(connection, carry_out)

    @property
    def is_over(self) -> bool:
        return self._remaining == 0


def lose_answer(connection: Connection, carry_out: Callable[[], object]) -> None:
    """Carry the COMMIT out, and let the connection die before it is answered."""
    carry_out()
    _die(connection)


def lose_commit(connection: Connection, _: Callable[[], object]) -> None:
    """Let the connection die before the COMMIT reaches the database."""
    _die(connection)


def deadlock(connection: Connection, _: Callable[[], object]) -> None:
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


def kill_from_outside(drive: gd.Drive) -> Strike:
    """Make a fault that lets the server end the connection right before its COMMIT."""

    def strike(connection: Connection, _: Callable[[], object]) -> None:
        if connection.dialect.name == "postgresql":
            number = connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]  # psycopg
            order = f"SELECT pg_terminate_backend({number}, 5000)"
        else:
            number = connection.connection.dbapi_connection.thread_id()  # type: ignore[union-attr]  # PyMySQL
            order = f"KILL {number}"
        with drive.engine.connect() as other:
            other.execute(text(order))

    return strike


@contextmanager
def turned_away(engine: Engine, *, times: int) -> Iterator[None]:
    """Let the next so many writing transactions find no server."""
    driver: Any = engine.dialect.dbapi
    remaining = times

    def refuse(connection: Connection) -> None:
        nonlocal remaining
        if remaining and connection.get_execution_options().get(WRITES_OPTION):
            remaining -= 1
            refused = driver.OperationalError(*_NO_ANSWER[engine.dialect.name])
            raise OperationalError("BEGIN", None, refused)

    event.listen(engine, "begin", refuse)
    trace(engine)
    try:
        yield
    finally:
        event.remove(engine, "begin", refuse)
    assert not remaining, "fewer transactions were begun"
