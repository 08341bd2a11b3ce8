"""Further Drives on the test's database, with settings of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from sqlalchemy import Column, MetaData, String, Table, select

import geneva_drive as gd
from tests.heroes import hero_tables
from tests.users_tables import make_empty
from tests.worker.watching import Watch

MakeDrive = Callable[..., gd.Drive]


@pytest.fixture
def make_drive(geneva: gd.Drive, geneva_database_url: str) -> Iterator[MakeDrive]:
    """Make a Drive beside `geneva`, as another process would have it."""
    with ExitStack() as stack:

        def make(**settings: Any) -> gd.Drive:
            drive = gd.Drive(geneva_database_url, **settings)
            stack.callback(drive.close)
            return drive

        yield make


@pytest.fixture
def chains_as_long_as_they_like(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a chain go back to the queue for no other reason than its test's."""
    monkeypatch.setattr("geneva_drive.worker.performer.MAX_CHAIN_SECONDS", math.inf)


@pytest.fixture
def watch(geneva: gd.Drive) -> Iterator[Watch]:
    watching = Watch(geneva)
    yield watching
    watching.end()


@pytest.fixture
def effects(geneva: gd.Drive) -> Table:
    """A table of the user's own, in which steps leave what they did."""
    table = Table("worker_effects", MetaData(), Column("name", String(100)))
    make_empty(geneva.engine, table.metadata)
    return table


def effects_of(drive: gd.Drive, effects: Table) -> list[str]:
    with drive.engine.connect() as connection:
        return list(connection.scalars(select(effects.c.name)))


@pytest.fixture
def users(geneva: gd.Drive) -> Iterator[None]:
    """The users' own tables, empty."""
    with hero_tables(geneva):
        yield
