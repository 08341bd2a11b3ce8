"""Tables for the heroes of this room's workflows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

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
def sqlite_drive(
    migrated_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[gd.Drive]:
    """A Drive for all tests of a module that is about arguments, not about a database."""
    copy = shutil.copy(migrated_file, tmp_path_factory.mktemp("drive"))
    with fresh_drive(f"sqlite:///{copy}") as drive:
        yield drive
