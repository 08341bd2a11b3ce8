"""The pytest plugin: a fresh Drive for each test, and a clock to move.

pytest loads it in every project where geneva-drive is installed, so that the library itself is
imported only when a fixture is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from geneva_drive.clock import ShiftedClock
    from geneva_drive.drive.drive import Drive


@pytest.fixture
def geneva_database_url(tmp_path: Path) -> str:
    """Where the `geneva` fixture keeps its tables; override it to test on your own database."""
    return f"sqlite:///{tmp_path / 'geneva.db'}"


@pytest.fixture
def geneva(geneva_database_url: str) -> Iterator[Drive]:
    """A migrated, empty Drive, which is the process's default during the test."""
    from geneva_drive.testing.fresh import fresh_drive

    with fresh_drive(geneva_database_url) as drive:
        yield drive


@pytest.fixture
def geneva_clock(geneva: Drive) -> Iterator[ShiftedClock]:
    """The Drive's clock, to be moved: `geneva_clock.advance(timedelta(days=2))`."""
    from datetime import timedelta

    from geneva_drive.testing.time import time_travel

    with time_travel(timedelta(0), geneva) as clock:
        yield clock
