"""Faster databases for tests: what does not change between two tests is done once."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from sqlalchemy import (
    URL,
    CompoundSelect,
    Connection,
    Dialect,
    Engine,
    delete,
    event,
    exists,
    literal,
    select,
    union_all,
)

from geneva_drive.storage import store as opening
from geneva_drive.storage.connections import engine as connecting
from geneva_drive.storage.dialects.base import Dialect as OwnDialect
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.store import Store
from tests.lasting_connections import LastingConnections
from tests.servers import POSTGRESQL, from_environment

# How the name of a database ends that is there for all tests of a process.
LASTING = "shared"

# The dialect that an engine was made with, where it was given another's.
OWN_DIALECTS: WeakKeyDictionary[Engine, Dialect] = WeakKeyDictionary()


def _ask_nothing(connection: Connection) -> None:
    """Take the place of `Dialect.initialize`."""


@contextmanager
def emptying_fast() -> Iterator[None]:
    """Find the tables that have rows with one statement, and empty only those.

    A database with UUID keys is emptied as the package does it, table by table.
    """
    empty_each = Store.empty

    def empty(store: Store, connection: Connection) -> None:
        if store.key_type is KeyType.UUID:
            empty_each(store, connection)
            return
        tables = store.tables.metadata.sorted_tables
        for place in sorted(connection.scalars(_places_with_rows(store.tables)), reverse=True):
            connection.execute(delete(tables[place]))

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(Store, "empty", empty)
        yield


@functools.cache
def _places_with_rows(tables: Tables) -> CompoundSelect[int]:
    return union_all(
        *(
            select(literal(place)).where(exists().select_from(table))
            for place, table in enumerate(tables.metadata.sorted_tables)
        )
    )


@contextmanager
def opening_fast() -> Iterator[None]:
    """Ask for the type of the keys once in a database that all tests of a process share."""
    read_tables = opening.read_tables
    known: dict[tuple[URL, str], Tables] = {}

    def read(connection: Connection, prefix: str, dialect: OwnDialect) -> Tables:
        url = connection.engine.url
        if not str(url.database).endswith(LASTING):
            return read_tables(connection, prefix, dialect)
        if (url, prefix) not in known:
            known[url, prefix] = read_tables(connection, prefix, dialect)
        return known[url, prefix]

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(opening, "read_tables", read)
        yield


@contextmanager
def compiling_once() -> Iterator[None]:
    """Let engines of one address share what they compile, which took half of the tests' time.

    It is found again only under the same dialect, so that they share that too, once it has met its
    server. On PostgreSQL they also share their connections, one after the other.
    """
    make_engine = connecting.make_engine
    known: dict[str, tuple[Dialect, dict[Any, Any]]] = {}
    lasting = LastingConnections()

    def make(url: str | URL) -> Engine:
        engine = make_engine(url)
        is_file = engine.dialect.name == "sqlite"
        at = "sqlite" if is_file else engine.url.render_as_string(hide_password=False)
        first = known.get(at)
        if first is None or not first[0].server_version_info:
            first = known[at] = engine.dialect, {}
        own = OWN_DIALECTS[engine] = engine.dialect
        engine.dialect, compiled = first
        if engine.dialect.server_version_info:
            # The dialect that is shared has asked the server these five questions already.
            own.initialize = _ask_nothing  # type: ignore[method-assign]
        engine.update_execution_options(compiled_cache=compiled)
        if _is_lasting_postgresql(engine.url):
            lasting.serve(own)
        return engine

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(connecting, "make_engine", make)
        yield
    lasting.close()


def _is_lasting_postgresql(url: URL) -> bool:
    """True for the user that all tests share; a connection of a test's own role ends with it."""
    server = from_environment(POSTGRESQL)
    if server is None or url.drivername != POSTGRESQL.driver:
        return False
    return url.username == server.url.username and str(url.database).endswith(LASTING)


def trace(engine: Engine) -> None:
    """Have SQLAlchemy execute all statements, also those that would go past it to the driver."""
    event.listen(engine, "after_cursor_execute", _note)


def _note(*_: Any) -> None:
    """What anybody would do who traces an engine."""
