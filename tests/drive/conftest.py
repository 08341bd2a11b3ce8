"""Tables for the heroes of this room's workflows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import geneva_drive as gd
from tests.heroes import hero_tables


@pytest.fixture
def users(geneva: gd.Drive) -> Iterator[None]:
    """The users' own tables, empty."""
    with hero_tables(geneva):
        yield
