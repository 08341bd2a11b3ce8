"""Tables for the heroes of this room's workflows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import geneva_drive as gd
from geneva_drive.testing.plugin import fresh_drive
from tests.heroes import hero_tables


@pytest.fixture
def users(geneva: gd.Drive) -> Iterator[None]:
    """The users' own tables, empty."""
    with hero_tables(geneva):
        yield


@pytest.fixture(scope="module")
def sqlite_drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gd.Drive]:
    """A Drive for all tests of a module that is about arguments, not about a database."""
    with fresh_drive(f"sqlite:///{tmp_path_factory.mktemp('drive') / 'geneva.db'}") as drive:
        yield drive
