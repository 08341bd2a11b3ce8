"""Databases and Drives for the conformance tests, which all run on every database."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.pool import NullPool

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.storage.schema.keys import KeyType
from tests.storage.revising import create_tables, printed_statements
from tests.storage.rows import Rows
from tests.storage.schema import describe


class OpenDrive(Protocol):
    def __call__(self, url_or_engine: str | URL | Engine, **settings: Any) -> gd.Drive: ...


@pytest.fixture(autouse=True)
def forget_workflow_classes() -> Iterator[None]:
    with registry.isolated():
        yield


@pytest.fixture(scope="session")
def make_empty(create_database: Callable[[str, str], str]) -> Callable[[str, str], str]:
    """Give a database without any table; PostgreSQL takes long to create one, so it is kept."""
    keep = functools.cache(create_database)

    def empty(database: str, suffix: str) -> str:
        if database != "postgresql":
            return create_database(database, suffix)
        url = keep(database, suffix)
        engine = create_engine(url, poolclass=NullPool)
        with engine.begin() as connection:
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
        return url

    return empty


@pytest.fixture
def empty_database_url(database: str, make_empty: Callable[[str, str], str], tmp_path: Path) -> str:
    """A database without any table, of this test alone."""
    if database == "sqlite":
        (tmp_path / "empty.db").touch()
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return make_empty(database, "empty")


@pytest.fixture
def another_database_url(
    database: str, make_empty: Callable[[str, str], str], tmp_path: Path
) -> str:
    """A second one."""
    if database == "sqlite":
        return f"sqlite:///{tmp_path / 'another.db'}"
    return make_empty(database, "another")


@pytest.fixture
def migrated_database_url(empty_database_url: str) -> str:
    """A database of this test alone with our tables, and nothing else."""
    drive = gd.Drive(empty_database_url)
    create_tables(drive.engine, printed_statements(drive))
    drive.close()
    return empty_database_url


@pytest.fixture(scope="session")
def schemas(
    make_empty: Callable[[str, str], str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, KeyType | None], dict[str, Any]]:
    """Describe a database that was migrated by itself; migrated once for each kind of key.

    With a kind of key, it has a table of the user's before: see `prepare`.
    """

    def migrated(database: str, key_type: KeyType | None) -> dict[str, Any]:
        if database == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('whole') / 'geneva.db'}"
        else:
            url = make_empty(database, "another")
        drive = gd.Drive(url)
        if key_type is not None:
            prepare(drive.engine, key_type)
        drive.migrate()
        found = describe(drive.engine)
        drive.close()
        return found

    return functools.cache(migrated)


@pytest.fixture
def whole_schema(
    database: str, schemas: Callable[[str, KeyType | None], dict[str, Any]]
) -> dict[str, Any]:
    """What a whole migration of an empty database makes."""
    return schemas(database, None)


def prepare(engine: Engine, key_type: KeyType) -> None:
    """Let the detection find `key_type`."""
    with engine.begin() as connection:
        kind = "CHAR(36)" if key_type is KeyType.UUID else "INTEGER"
        connection.execute(text(f"CREATE TABLE users (id {kind} PRIMARY KEY)"))


@pytest.fixture
def open_drive() -> Iterator[OpenDrive]:
    """Open Drives that are closed after the test."""
    with ExitStack() as stack:

        def open_one(url_or_engine: str | URL | Engine, **settings: Any) -> gd.Drive:
            drive = gd.Drive(url_or_engine, **settings)
            stack.callback(drive.close)
            return drive

        yield open_one


@pytest.fixture
def open_engine() -> Iterator[Callable[..., Engine]]:
    """Open engines as users make them; they are disposed of after the test."""
    with ExitStack() as stack:

        def open_one(url: str | URL, **options: Any) -> Engine:
            engine = create_engine(url, **options)
            stack.callback(engine.dispose)
            return engine

        yield open_one


@pytest.fixture
def rows(geneva: gd.Drive) -> Rows:
    """The rows of the `geneva` Drive, written past our own code."""
    return Rows.of(geneva)
