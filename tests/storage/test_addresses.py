"""A database's address that cannot be used says what to write instead."""

from __future__ import annotations

import sys

import pytest
from sqlalchemy import URL, create_engine
from sqlalchemy.pool import StaticPool

import geneva_drive as gd

HOW = (
    " is not a database URL. Write it as sqlite:///file.db, "
    "postgresql://user:password@host/name or mysql://user:password@host/name."
)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", "''"),
        ("geneva.db", "'geneva.db'"),
        ("postgresql://host:port/name", "'postgresql://host:port/name'"),
        ("postgresql://ann:secret@host:port/name", "'postgresql://ann:***@host:port/name'"),
        ("mysql+nosuchdriver://ann:secret@host/x", "'mysql+nosuchdriver://ann:***@host/x'"),
        (5, "5"),
    ],
)
def test_what_is_not_a_url_is_refused_without_showing_a_password(url: str, shown: str) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        gd.Drive(url)

    assert str(refusal.value) == f"{shown}{HOW}"


@pytest.mark.parametrize("url", ["oracle://ann:secret@host/name", "oracle+oracledb://host/name"])
def test_another_kind_of_database_is_refused(url: str) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        gd.Drive(url)

    assert str(refusal.value) == (
        "GenevaDrive runs on SQLite, PostgreSQL and MySQL/MariaDB, not on 'oracle'."
    )


@pytest.mark.parametrize(
    ("url", "driver", "instead"),
    [
        ("postgresql+asyncpg://host/name", "asyncpg", "postgresql"),
        ("sqlite+aiosqlite:///geneva.db", "aiosqlite", "sqlite"),
        ("mysql+aiomysql://host/name", "aiomysql", "mysql"),
    ],
)
def test_an_asynchronous_driver_is_refused(url: str, driver: str, instead: str) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        gd.Drive(url)

    assert str(refusal.value) == (
        f"{driver!r} is an asynchronous driver, and GenevaDrive needs one that is not. "
        f"Write the URL as {instead}://..., without a driver."
    )


@pytest.mark.parametrize(
    ("url", "driver", "package"),
    [
        ("postgresql://host/name", "psycopg", "'geneva-drive[postgres]'"),
        ("postgres://host/name", "psycopg", "'geneva-drive[postgres]'"),
        ("mysql://host/name", "pymysql", "'geneva-drive[mysql]'"),
        ("mariadb://host/name", "pymysql", "'geneva-drive[mysql]'"),
        ("postgresql+psycopg2://host/name", "psycopg2", "psycopg2"),
    ],
)
def test_a_driver_that_is_not_installed_is_named_with_its_extra(
    url: str, driver: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, driver, None)

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        gd.Drive(url)

    assert str(refusal.value) == (
        f"The driver {driver!r} for this database is not installed. Run: pip install {package}."
    )


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file::memory:?cache=shared&uri=true",
        "sqlite:///file:shared?mode=memory&cache=shared&uri=true",
    ],
)
def test_a_database_in_memory_is_refused(url: str) -> None:
    message = (
        "An in-memory SQLite database cannot be shared by a worker's threads. "
        "Use a file: sqlite:///geneva.db."
    )

    with pytest.raises(gd.errors.InvalidInput) as from_url:
        gd.Drive(url)
    with pytest.raises(gd.errors.InvalidInput) as from_engine:
        gd.Drive(create_engine(url, poolclass=StaticPool))

    assert (str(from_url.value), str(from_engine.value)) == (message, message)


def test_a_drive_shows_its_address_without_the_password() -> None:
    drive = gd.Drive(URL.create("postgresql", "ann", "secret", "host", 5432, "shop"))

    shown = (drive.database_url, repr(drive))

    assert shown == (
        "postgresql+psycopg://ann:***@host:5432/shop",
        "<Drive postgresql+psycopg://ann:***@host:5432/shop>",
    )
